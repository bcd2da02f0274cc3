//! `Summary`: what came of a run, for people and for programs.
//!
//! It says what was done, what was measured and what was checked, and it hides nothing: a check that did not hold is
//! named in the verdict.

use std::{fmt, num::NonZero, thread::available_parallelism};

use serde::Serialize;

use super::{
    account::OPENING_BALANCE,
    failovers::Failovers,
    options::{Options, Plane},
    oracle::Findings,
    tally::{Failed, Tally},
};

/// The result of one run. Its fields are the JSON.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    pub(crate) plane: &'static str,
    /// How many nodes there were in the beginning.
    pub(crate) nodes: u32,
    pub(crate) seconds: f64,
    pub(crate) cores: usize,
    pub(crate) accounts: u32,
    pub(crate) tellers: u32,
    /// Asks that their entity answered, refusals included.
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    pub(crate) tells: u64,
    pub(crate) failed: Failed,
    pub(crate) unknown: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    /// Accounts that did not answer in the end.
    pub(crate) unchecked: u64,
    /// What the bank should hold and does not; nobody can know while the fate of some message is unknown.
    pub(crate) money_missing: Option<i64>,
    pub(crate) overlaps: u64,
    /// Shards that changed their node.
    pub(crate) moves: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// The same while something was done to the cluster, and for a second after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p99_disturbed_us: Option<f64>,
    /// The longest time in which one teller got no answer.
    pub(crate) longest_gap_ms: f64,
    /// How long it took after each kill of a node until everybody was answered again.
    #[serde(flatten)]
    pub(crate) failovers: Option<Failovers>,
    /// The longest time from when nothing was between the nodes any more until all were members again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) heal_max_ms: Option<f64>,
    /// The shortest time between the last act of an account on one node and its first on another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) smallest_handover_us: Option<f64>,
    pub(crate) messages_per_second: f64,
    pub(crate) entities_started: u64,
    pub(crate) entities_stopped: u64,
    /// Panics on purpose.
    pub(crate) panics: u64,
    pub(crate) restarts: u64,
    pub(crate) dead_letters: u64,
}

impl Summary {
    /// What there is to say of any run. What entities did is for whoever hosted them to add.
    pub(crate) fn of(options: &Options, seconds: f64, tally: &Tally, findings: Findings) -> Self {
        let (plane, nodes) = match options.plane {
            Plane::Solo => ("solo", 1),
            Plane::Managed => ("managed", options.nodes),
            Plane::Peer => ("peer", options.nodes),
        };
        let opening = i64::from(options.accounts) * OPENING_BALANCE;
        let summary = Self {
            plane,
            nodes,
            seconds,
            cores: available_parallelism().map_or(1, NonZero::get),
            accounts: options.accounts,
            tellers: options.tellers,
            acknowledged: tally.acknowledged,
            refused: tally.refused,
            tells: tally.tells,
            failed: tally.failed,
            unknown: tally.unknown,
            lost: findings.lost,
            duplicated: findings.duplicated,
            unchecked: findings.unchecked,
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
            p99_disturbed_us: tally.disturbed_us(0.99),
            longest_gap_ms: tally.longest_gap.as_secs_f64() * 1e3,
            failovers: Failovers::of(&tally.failovers),
            messages_per_second: tally.messages() as f64 / seconds,
            ..Self::default()
        };
        let missing = opening - tally.in_transit - findings.money;
        Self {
            money_missing: summary.has_known_sum().then_some(missing),
            ..summary
        }
    }

    pub(crate) fn all_checks_held(&self) -> bool {
        self.broken_checks().is_empty()
    }

    fn broken_checks(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (count, what) in [
            (self.lost, "acknowledged effects are lost"),
            (self.duplicated, "effects are there too often"),
            (self.overlaps, "times an account lived twice at once"),
            (self.unchecked, "accounts did not answer in the end"),
            (
                self.panics - self.restarts.min(self.panics),
                "entities did not come back after a panic",
            ),
        ] {
            if count > 0 {
                broken.push(format!("{} {what}", grouped(count)));
            }
        }
        if let Some(missing) = self.money_missing.filter(|missing| *missing != 0) {
            broken.push(format!("{missing} of money is missing"));
        }
        broken
    }

    fn has_known_sum(&self) -> bool {
        let Failed {
            not_executed: _,
            failed_in_handler,
            executed_without_answer,
        } = self.failed;
        self.unknown + self.unchecked + failed_in_handler + executed_without_answer == 0
    }

    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = grouped(self.messages_per_second as u64);
        let asks = grouped(self.acknowledged);
        let (refused, tells) = (grouped(self.refused), grouped(self.tells));
        let (p50, p99, gap) = (self.p50_us, self.p99_us, self.longest_gap_ms);
        let (started, stopped) = (self.entities_started, self.entities_stopped);
        let (started, stopped) = (grouped(started), grouped(stopped));
        let (panics, restarts) = (self.panics, self.restarts);
        let letters = self.dead_letters;
        let Failed {
            not_executed,
            failed_in_handler,
            executed_without_answer,
        } = self.failed;
        let unknown = self.unknown;
        writeln!(f, "  speed     {rate} messages per second")?;
        writeln!(
            f,
            "  answers   {asks} asks answered, of these {refused} refused for lack of money; {tells} tells accepted"
        )?;
        writeln!(
            f,
            "  failures  {not_executed} not executed, {failed_in_handler} failed in the handler, {executed_without_answer} without an answer, {unknown} unknown"
        )?;
        writeln!(
            f,
            "  latency   p50 {p50:.1} µs, p99 {p99:.1} µs; no teller waited longer than {gap:.1} ms for an answer"
        )?;
        writeln!(
            f,
            "  entities  started {started} times, stopped {stopped} times, with their state saved and loaded"
        )?;
        if let Some(p99) = self.p99_disturbed_us {
            writeln!(
                f,
                "  disturbed p99 {p99:.1} µs while something was done to the cluster"
            )?;
        }
        if let Some(failovers) = &self.failovers {
            writeln!(f, "  failover  {failovers}")?;
        }
        if let Some(healed) = self.heal_max_ms {
            writeln!(
                f,
                "  healing   all nodes were members again at most {healed:.0} ms after they could be"
            )?;
        }
        if let Some(gap) = self.smallest_handover_us {
            let moves = grouped(self.moves);
            writeln!(
                f,
                "  moves     {moves} shards changed their node; the shortest time in which an account lived nowhere on its way was {gap:.0} µs"
            )?;
        }
        writeln!(
            f,
            "  chaos     {panics} panics on purpose, {restarts} restarts, {letters} dead letters"
        )
    }

    fn checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lost, duplicated) = (grouped(self.lost), grouped(self.duplicated));
        let overlaps = grouped(self.overlaps);
        let checked = u64::from(self.accounts) - self.unchecked;
        writeln!(
            f,
            "Checked, against what was acknowledged and not against what entities believe:"
        )?;
        writeln!(
            f,
            "  {} of {} accounts asked for their state",
            grouped(checked),
            grouped(self.accounts.into())
        )?;
        writeln!(
            f,
            "  lost {lost}, duplicated {duplicated}, lived twice at once {overlaps}"
        )?;
        match self.money_missing {
            Some(missing) => writeln!(f, "  money missing from the whole bank: {missing}"),
            None => writeln!(
                f,
                "  money in the whole bank: cannot be told, as the fate of some messages is unknown"
            ),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (accounts, tellers) = (grouped(self.accounts.into()), grouped(self.tellers.into()));
        let (seconds, cores) = (self.seconds, self.cores);
        let place = match self.nodes {
            1 => "in one process".to_owned(),
            nodes => format!("on {nodes} nodes, each a process,"),
        };
        writeln!(
            f,
            "A bank of {accounts} accounts and {tellers} tellers who never pause, {seconds:.1} s, {place} on {cores} cores."
        )?;
        writeln!(f)?;
        self.figures(f)?;
        writeln!(f)?;
        self.checks(f)?;
        writeln!(f)?;
        let broken = self.broken_checks();
        if broken.is_empty() {
            writeln!(f, "Every check held.")
        } else {
            writeln!(f, "NOT EVERY CHECK HELD: {}", broken.join("; "))
        }
    }
}

/// A number that people can read: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 7, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn each_broken_check_is_named_in_the_verdict() {
        assert!(Summary::default().to_string().contains("Every check held."));
        let broken = [
            (
                Summary {
                    lost: 1,
                    ..Summary::default()
                },
                "1 acknowledged effects are lost",
            ),
            (
                Summary {
                    duplicated: 2,
                    ..Summary::default()
                },
                "2 effects are there too often",
            ),
            (
                Summary {
                    overlaps: 3,
                    ..Summary::default()
                },
                "3 times an account lived twice",
            ),
            (
                Summary {
                    accounts: 4,
                    unchecked: 4,
                    ..Summary::default()
                },
                "4 accounts did not answer",
            ),
            (
                Summary {
                    panics: 5,
                    ..Summary::default()
                },
                "5 entities did not come back",
            ),
            (
                Summary {
                    money_missing: Some(-6),
                    ..Summary::default()
                },
                "-6 of money is missing",
            ),
        ];
        for (summary, named) in broken {
            assert!(!summary.all_checks_held(), "{named}");
            let text = summary.to_string();
            assert!(
                text.contains("NOT EVERY CHECK HELD") && text.contains(named),
                "{text}"
            );
        }
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn of_two_accounts(tally: &Tally, money: i64) -> Summary {
        let Line { options } = clap::Parser::parse_from(["demo", "--accounts", "2"]);
        let findings = Findings {
            money,
            ..Findings::default()
        };
        Summary::of(&options, 1.0, tally, findings)
    }

    #[test]
    fn money_is_not_missed_while_the_fate_of_a_message_is_unknown() {
        let held = 2 * OPENING_BALANCE - 5;
        let mut tally = Tally::default();
        let known = of_two_accounts(&tally, held);
        assert_eq!(known.money_missing, Some(5));
        assert!(!known.all_checks_held());
        tally.unknown = 1;
        let unknown = of_two_accounts(&tally, held);
        assert!(unknown.all_checks_held());
        assert!(unknown.to_string().contains("cannot be told"));
        let json = serde_json::to_value(&unknown).unwrap();
        assert_eq!(json["money_missing"], serde_json::Value::Null);
        assert!(json.as_object().unwrap().contains_key("money_missing"));
    }
}
