//! `probe`: whether a manager or a peer lives, or is ready, as one line and an exit code.
//!
//! For whoever starts and restarts it and has no certificate to show: the kubelet, systemd, a script. It asks the same pages that an HTTP
//! probe would, and it ends in time whatever it asks does.

use std::process::ExitCode;

use anyhow::{bail, ensure};
use clap::Args;
use serde_json::json;
use tokio::time::timeout;

use super::{block_on, client::Client, reach::Reach};
use crate::{Nonsense, span::Span};

/// The arguments of `ostrakon probe`.
#[derive(Args, Debug)]
#[command(after_help = "\
It lives if it answers. It is ready if it has read the log besides, so that what it says of the cluster
is so; a manager that stands by for another is ready, too. Restart what does not live, and send nobody to
what is not ready.

Exit code: 0 if it is so, 1 if not, 2 for options that make no sense.

Examples:
  ostrakon probe
  ostrakon probe --ready --within 500ms
  ostrakon probe --manager https://127.0.0.1:9471 --certs /etc/ostrakon/certs --as manager-0")]
pub(crate) struct Probe {
    /// Ask whether it is ready, and not only whether it lives
    #[arg(long)]
    ready: bool,
    /// How long it may take to answer
    #[arg(long, value_name = "TIME", default_value = "2s")]
    within: Span,
    #[command(flatten)]
    reach: Reach,
}

pub(crate) fn probe(verb: &Probe) -> anyhow::Result<ExitCode> {
    let client = verb.reach.client().map_err(Nonsense)?;
    let page = if verb.ready { READY } else { ALIVE };
    let asked = block_on(async {
        let answered = timeout(verb.within.0, page.ask(&client)).await;
        answered.unwrap_or_else(|_| bail!("no answer within {}", verb.within))
    })?;
    Ok(report(page.state, asked, &verb.reach))
}

/// What can be asked, and what is answered if it is so.
struct Page {
    path: &'static str,
    answer: &'static str,
    state: &'static str,
}

const ALIVE: Page = Page {
    path: "/healthz",
    answer: "ok\n",
    state: "alive",
};
const READY: Page = Page {
    path: "/readyz",
    answer: "ready\n",
    state: "ready",
};

impl Page {
    async fn ask(&self, client: &Client) -> anyhow::Result<()> {
        let said = client.get_text(self.path).await?;
        ensure!(
            said == self.answer,
            "somebody else answers at {}: is that the admin API of a manager?",
            client.address
        );
        Ok(())
    }
}

/// Says what came of it in one line, for that is what platforms show of a probe.
fn report(state: &str, asked: anyhow::Result<()>, reach: &Reach) -> ExitCode {
    let why = asked.err().map(|error| {
        let text = format!("{error:#}");
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        lines.join("; ")
    });
    let not = if why.is_some() { "not " } else { "" };
    match &why {
        _ if reach.json => println!(
            "{}",
            json!({ "state": format!("{not}{state}"), "why": why })
        ),
        Some(why) => println!("{not}{state}: {why}"),
        None => println!("{state}"),
    }
    match why {
        Some(_) => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    }
}
