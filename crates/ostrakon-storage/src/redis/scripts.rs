//! Every script there is, and what its answers mean.
//!
//! Numbers travel and lie as text: those of the scripts' language are exact up to 2⁵³ only, which no counter reaches but a node could claim.

use std::sync::LazyLock;

use ostrakon_core::{Incarnation, Index, Term};
use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, FromRedisValue, RedisError, Script, ScriptInvocation};
use serde_json::json;

use super::keys::Keys;
use super::trouble::Trouble;
use crate::backend::{Batch, Compaction, FORMAT, Found, MOST_BYTES_READ, MOST_READ};
use crate::{Append, Head, Renewal, Renewed};

static APPEND: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("append.lua")));
static READ: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("read.lua")));
static BEAT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("beat.lua")));
static COMPACT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("compact.lua")));
static RENEW: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("renew.lua")));

/// What came of an append.
pub(super) enum Written {
    Done,
    Conflict,
    Renewed(Incarnation),
}

pub(super) async fn append(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
    append: &Append<'_>,
    batch: &Batch,
) -> Result<Written, Trouble> {
    let texts = |runs: &[Incarnation]| -> Vec<String> {
        runs.iter().map(|run| run.get().to_string()).collect()
    };
    let unmoved: Vec<[String; 2]> = append
        .unmoved
        .iter()
        .map(|(run, renewal)| [run.get().to_string(), lease_text(renewal)])
        .collect();
    let facts = json!({
        "after": append.after.get().to_string(),
        "last": batch.last.get().to_string(),
        "term": batch.term.map(|term| term.get().to_string()).unwrap_or_default(),
        "unmoved": unmoved,
        "begun": texts(&batch.begun),
        "ended": texts(&batch.ended),
        "channel": keys.channel,
    });
    let mut script = APPEND.arg(facts.to_string());
    for (_, text) in &batch.entries {
        script.arg(text);
    }
    let (outcome, run): (String, String) = invoke(script, connection, keys).await?;
    match outcome.as_str() {
        "done" => Ok(Written::Done),
        "conflict" => Ok(Written::Conflict),
        _ => Ok(Written::Renewed(Incarnation::new(number(&run)?))),
    }
}

pub(super) async fn read(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
    behind: Index,
) -> Result<Found, Trouble> {
    let mut script = READ.arg(behind.get());
    script.arg(MOST_READ).arg(MOST_BYTES_READ);
    let (last, before, snapshot, texts): (String, String, Option<String>, Vec<String>) =
        invoke(script, connection, keys).await?;
    let first = Index::new(number(&before)?).next();
    let indexes = std::iter::successors(Some(first), |index| Some(index.next()));
    Ok(Found {
        last: Index::new(number(&last)?),
        snapshot,
        entries: indexes.zip(texts).collect(),
    })
}

pub(super) async fn head(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
) -> Result<Head, Trouble> {
    let (last, term, beat): (Option<u64>, Option<u64>, Option<u64>) = redis::cmd("HMGET")
        .arg(&keys.head)
        .arg(&["last", "term", "beat"])
        .query_async(connection)
        .await?;
    Ok(Head {
        last: Index::new(last.unwrap_or_default()),
        term: Term::new(term.unwrap_or_default()),
        beat: beat.unwrap_or_default(),
    })
}

/// The format that lies there; ours if there was none.
pub(super) async fn format(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
) -> Result<u32, Trouble> {
    let (_, format): (bool, u32) = redis::pipe()
        .hset_nx(&keys.head, "format", FORMAT)
        .hget(&keys.head, "format")
        .query_async(connection)
        .await?;
    Ok(format)
}

pub(super) async fn beat(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
    term: Term,
    count: u64,
) -> Result<(), Trouble> {
    let mut script = BEAT.arg(term.get());
    script.arg(count);
    invoke(script, connection, keys).await
}

/// Where the log ends: before the snapshot, nothing was done.
pub(super) async fn compact(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
    compaction: &Compaction,
) -> Result<Index, Trouble> {
    let members = compaction.members().map(|run| run.get().to_string());
    let members: Vec<String> = members.collect();
    let mut script = COMPACT.arg(compaction.index.get());
    script.arg(&compaction.text).arg(json!(members).to_string());
    let last: String = invoke(script, connection, keys).await?;
    Ok(Index::new(number(&last)?))
}

pub(super) async fn renew(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
    incarnation: Incarnation,
    renewal: Renewal,
) -> Result<Renewed, Trouble> {
    let mut script = RENEW.arg(incarnation.get());
    script.arg(renewal.seq).arg(renewal.ok_seq);
    let outcome: String = invoke(script, connection, keys).await?;
    Ok(match outcome.as_str() {
        "counted" => Renewed::Counted,
        _ => Renewed::Ended,
    })
}

pub(super) async fn leases(
    connection: &mut MultiplexedConnection,
    keys: &Keys,
) -> Result<Vec<(Incarnation, Renewal)>, Trouble> {
    let all: Vec<(u64, String)> = redis::cmd("HGETALL")
        .arg(&keys.leases)
        .query_async(connection)
        .await?;
    let mut leases = Vec::with_capacity(all.len());
    for (run, text) in all {
        let (seq, ok_seq) = text.split_once(' ').ok_or_else(|| not_ours(&text))?;
        let (seq, ok_seq) = (number(seq)?, number(ok_seq)?);
        leases.push((Incarnation::new(run), Renewal { seq, ok_seq }));
    }
    leases.sort_by_key(|(run, _)| *run);
    Ok(leases)
}

/// A server that has not seen the script yet says so before it does anything, and is sent it.
async fn invoke<T: FromRedisValue>(
    mut script: ScriptInvocation<'_>,
    connection: &mut MultiplexedConnection,
    keys: &Keys,
) -> Result<T, Trouble> {
    keys.name(&mut script);
    Ok(script.invoke_async(connection).await?)
}

fn lease_text(renewal: &Renewal) -> String {
    format!("{} {}", renewal.seq, renewal.ok_seq)
}

fn number(text: &str) -> Result<u64, Trouble> {
    text.parse().map_err(|_| not_ours(text))
}

fn not_ours(text: &str) -> Trouble {
    let text = text.to_owned();
    RedisError::from((ErrorKind::Parse, "not what we have written", text)).into()
}
