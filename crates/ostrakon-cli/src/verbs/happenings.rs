//! `events`: what has happened, and what happens.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use super::{
    client::{Client, print_json},
    reach::Reach,
};

/// How long to leave a manager alone that does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest line of a stream.
const LONGEST_LINE: usize = 1024 * 1024;

/// The arguments of `ostrakon events`.
#[derive(Args, Debug)]
#[command(after_help = "\
With --follow, a connection that breaks is made again, and nothing is shown twice or left out that
the manager still remembers. With --json, each event is one line.

Examples:
  ostrakon events --limit 20
  ostrakon events --follow
  ostrakon events --follow --since 0 --json | jq -c 'select(.event == \"silent\")'")]
pub(crate) struct Events {
    /// Go on with what happens
    #[arg(long, short)]
    follow: bool,
    /// Begin with the event of this number
    #[arg(long, value_name = "N")]
    since: Option<u64>,
    /// Show at most so many, the latest unless --since says otherwise
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
    #[command(flatten)]
    reach: Reach,
}

pub(crate) async fn events(verb: &Events) -> anyhow::Result<()> {
    let client = verb.reach.client()?;
    if verb.follow {
        return follow(&client, verb).await;
    }
    let since = match verb.since {
        Some(since) => since,
        None => next_event(&client).await?.saturating_sub(verb.limit),
    };
    let answer = client
        .get(&format!("/v1/events?since={since}&limit={}", verb.limit))
        .await?;
    if verb.reach.json {
        return print_json(&answer);
    }
    for event in answer["events"].as_array().into_iter().flatten() {
        println!("{}", line(event));
    }
    Ok(())
}

/// The number of the next event: what a page beyond the end says.
async fn next_event(client: &Client) -> anyhow::Result<u64> {
    let beyond = client
        .get(&format!("/v1/events?since={}&limit=1", u64::MAX))
        .await?;
    Ok(beyond["next"].as_u64().unwrap_or_default())
}

async fn follow(client: &Client, verb: &Events) -> anyhow::Result<()> {
    let mut last: Option<String> = None;
    let mut stream = client.follow(verb.since, None).await?;
    loop {
        listen(stream, verb, &mut last).await?;
        eprintln!("the manager is gone; waiting for it");
        stream = loop {
            tokio::time::sleep(PAUSE).await;
            if let Ok(stream) = client.follow(verb.since, last.as_deref()).await {
                break stream;
            }
        };
    }
}

/// Shows what comes until the stream ends.
async fn listen(
    mut stream: Incoming,
    verb: &Events,
    last: &mut Option<String>,
) -> anyhow::Result<()> {
    let mut read = Vec::new();
    let mut id = None;
    while let Some(Ok(frame)) = stream.frame().await {
        let Some(data) = frame.data_ref() else {
            continue;
        };
        read.extend_from_slice(data);
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(&read[..end]).trim_end().to_owned();
            read.drain(..=end);
            if let Some(found) = text.strip_prefix("id:") {
                id = Some(found.trim().to_owned());
            } else if let Some(data) = text.strip_prefix("data:") {
                show(data.trim(), verb)?;
                *last = id.take().or_else(|| last.take());
            }
        }
        anyhow::ensure!(
            read.len() < LONGEST_LINE,
            "the stream is no stream of events"
        );
    }
    Ok(())
}

fn show(data: &str, verb: &Events) -> anyhow::Result<()> {
    if verb.reach.json {
        println!("{data}");
        return Ok(());
    }
    let event: Value = serde_json::from_str(data)?;
    match event.get("missed") {
        Some(missed) => println!("… {missed} events are forgotten already …"),
        None => println!("{}", line(&event)),
    }
    Ok(())
}

/// An event on one line: its number, its age, what it is, and whatever else it has.
fn line(event: &Value) -> String {
    let number = event["number"].as_u64().unwrap_or_default();
    let at = event["at_ms"].as_u64().unwrap_or_default();
    let mut line = format!(
        "{number:>6}  {:>8} ago  {}",
        age(at),
        event["event"].as_str().unwrap_or("?")
    );
    for (key, value) in event.as_object().into_iter().flatten() {
        if ["number", "at_ms", "event", "index"].contains(&key.as_str()) || value.is_null() {
            continue;
        }
        let shard = value.get("group").zip(value.get("shard"));
        let value = match (shard, value) {
            (Some((group, number)), _) => format!("{}/{number}", group.as_str().unwrap_or("?")),
            (None, Value::String(text)) => text.clone(),
            (None, other) => other.to_string(),
        };
        line += &format!("  {key}={value}");
    }
    line
}

/// How long ago a moment is.
pub(super) fn ago(at_ms: u64) -> String {
    format!("{} ago", age(at_ms))
}

fn age(at_ms: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = now.saturating_sub(Duration::from_millis(at_ms)).as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_with_all_that_it_has() {
        let event = json!({
            "number": 7, "index": 3, "at_ms": 0, "event": "move_began",
            "shard": {"group": "default", "shard": 4}, "from": "a", "to": null, "reason": "balance"
        });
        let line = line(&event);
        assert!(line.starts_with("     7  "), "{line}");
        assert!(line.contains("ago  move_began"), "{line}");
        assert!(line.contains("  shard=default/4"), "{line}");
        assert!(
            line.contains("  from=a") && line.contains("  reason=balance"),
            "{line}"
        );
        assert!(!line.contains("to="), "{line}");
    }
}
