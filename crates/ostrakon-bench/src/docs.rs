//! `docs/benchmarks.md`: the tables with everything needed to read and repeat them.
//!
//! The page is written whole each time; nothing in it is edited by hand.

use std::fs;

use anyhow::{Context, Result};

use crate::machine;
use crate::measure::Pace;
use crate::report::Report;

const VERSIONS: &[&str] = &[
    "ostrakon",
    "tokio",
    "kameo",
    "ractor",
    "actix",
    "ractor_cluster",
    "libp2p",
    "tonic",
    "coerce",
];

const HOW_TO_READ: &str = "\
- **Ratios count, not rates.** Contenders take turns within one run, so a ratio survives a
  different or a noisy machine; a rate does not. Differences below 1.3× are a tie.
- `/limit` and `/best peer` are ours divided by the other: more is better for rates, less for
  sizes, slowdowns, latencies, processor time and `hot`.
- `mt` is a tokio runtime with two worker threads, `ct` the current-thread runtime. actix binds an
  actor to a thread: on `mt` its callers have one thread and its actors the other.
- **limit** is tokio alone: a task behind an mpsc channel of 64 that answers through a oneshot
  (`tell_unbounded`: the same without a bound); for memory, a map from id to a boxed state.
- **Peers** host one actor per entity and are built without tracing and remoting. kameo has
  mailboxes of 64; those of ractor and actix are not bounded for tells.
- `tell`: one producer, one entity; every message is accounted for at the end. `ask_1`: one call in
  flight. `ask_64`: 64 callers, one entity. `ask_64_1000`: 64 callers, each call to a random one of
  1,000 through a prepared handle; `by_id`: found by its string id in every call.
- `hot`: 64 callers ask 1,000 neighbours, first alone, then while another entity is flooded with
  tells; the row is the neighbours' p99 with the flood over that without.
- `memory`: idle entities with 16 bytes of state and an id of twelve characters; a million of ours
  and of the limit, 100,000 (quick: 20,000) of the peers. Resident bytes each, creations per second
  (one message to each included, except for the limit), time of the last tenth over the first. The
  limit's one table doubles at 917,504 entries, inside the last tenth: that pause is its slowdown.
- Every measurement is a process of its own, after a discarded warm-up; latencies are from one call
  in sixteen, between processes from every call.
- `remote_*`: a client and a server process on loopback, 1,000 entities with ids of 16 characters,
  bodies of 32 bytes (about 60 with the envelope) or 4 KiB, answers as long as their questions.
  `same`: both on one core, the software alone; `split`: one core each, which adds the wake-ups;
  without either, unpinned. `cpu` is the processor time of both processes per message, `tail` the
  p99 over the p50. Two threads a side are four threads: on two cores their p99 is the kernel's time
  slice.
- `remote_ask_N`: N callers, each with one call in flight to a random entity. `remote_tell`: one
  producer, one entity; every message is accounted for at the end. `remote_stream`: one answer of
  many items. `remote_tls`: 256 callers with encryption over the same without. `remote_burst`: one
  caller while 2 MiB messages go over the same connection, over the same without; four times as long;
  `large`: how many of these were answered a second, each with as much.
- Between processes **limit** is a postcard struct in a frame of TCP, handled by the task that reads
  it, all answers to one read in one write; **framed** is the same with a task and a mailbox of 16
  per entity. The limit takes a stream over a connection of its own. **tonic** is one bidirectional
  stream of batches of up to 64 messages in front of the same mailboxes. ractor and kameo
  (encrypted, it cannot do without; tells acknowledged, as they would overtake each other otherwise)
  answer from one actor instead of 1,000, coerce from 1,000 sharded ones. A connection of kameo takes
  512 calls at most, and a sharded actor of coerce no tells.
- `plan SHARDSxNODES`: milliseconds to plan who gets which shard after one node of a balanced cluster
  was `lost` and after one has `joined`, without a limit on the moves; `growth` is the time of both
  over the same with a tenth of the shards, where 10 would be linear and less means that the nodes
  cost more than the shards.
- With `--features peers` kameo and ractor are built with remoting, in the local rows too.
";

/// How the run was made.
pub(crate) struct Conditions {
    /// What to type to repeat it.
    pub(crate) command: String,
    pub(crate) pace: Pace,
    /// Whether the cores were kept from halting.
    pub(crate) awake: String,
    /// Load average before the run.
    pub(crate) load: String,
}

/// Write the page.
pub(crate) fn write(report: &Report, conditions: &Conditions) -> Result<()> {
    let path = machine::workspace_root().join("docs/benchmarks.md");
    fs::write(&path, page(report, conditions))
        .with_context(|| format!("writing {}", path.display()))
}

fn page(report: &Report, conditions: &Conditions) -> String {
    format!(
        "# Benchmarks\n\n\
         Written by `{command}`; do not edit.\n\n\
         {conditions}\n\
         ## Results\n\n{tables}\n\
         ## Targets not met\n\n{misses}\n\
         {absences}\
         ## How to read this\n\n{HOW_TO_READ}",
        command = conditions.command,
        conditions = conditions.describe(),
        tables = report.tables(),
        misses = list(
            &[&report.misses()[..], &failures(report)].concat(),
            "None: every target above is met.",
        ),
        absences = absences(report),
    )
}

impl Conditions {
    fn describe(&self) -> String {
        let warning = match self.pace {
            Pace::Full => "",
            Pace::Quick => "- **A quick run**: it shows that everything runs, not how fast.\n",
        };
        format!(
            "- {date}, {machine}; load average before the run {load}\n\
             - {rustc}, release profile; {versions}\n\
             - medians of {rounds} rounds of {length:?}, contenders in turn; {awake}\n{warning}",
            date = machine::date(),
            machine = machine::describe(),
            load = self.load,
            rustc = machine::rustc_version(),
            versions = machine::crate_versions(VERSIONS),
            rounds = self.pace.rounds(),
            length = self.pace.length(),
            awake = self.awake,
        )
    }
}

fn failures(report: &Report) -> Vec<String> {
    let failures = report.failures().iter();
    failures
        .map(|failure| format!("not measured: {failure}"))
        .collect()
}

fn absences(report: &Report) -> String {
    let absences = Vec::from_iter(report.absences().iter().cloned());
    if absences.is_empty() {
        return String::new();
    }
    format!("## Did not take part\n\n{}\n", list(&absences, ""))
}

fn list(items: &[String], otherwise: &str) -> String {
    if items.is_empty() {
        return format!("{otherwise}\n");
    }
    items.iter().map(|item| format!("- {item}\n")).collect()
}
