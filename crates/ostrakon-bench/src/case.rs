//! A measure under its conditions: the runtime, and the cores for two processes.
//!
//! With one message in flight a wake-up on another core costs more than all of
//! the software, so that latency is taken on one core and on two, never on
//! whichever core the kernel happens to choose.

use clap::ValueEnum;

use crate::measure::{Group, Measure, Runtime, label};

/// What one comparison is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) measure: Measure,
    pub(crate) runtime: Runtime,
    pub(crate) place: Place,
}

/// Which cores the two processes of a measurement may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// Any.
    Free,
    /// Both the same one.
    Same,
    /// One each.
    Split,
}

const FREE: [(Runtime, Place); 2] = [(Runtime::Mt, Place::Free), (Runtime::Ct, Place::Free)];
const PINNED: [(Runtime, Place); 2] = [(Runtime::Ct, Place::Same), (Runtime::Ct, Place::Split)];
const LOADED: [(Runtime, Place); 2] = [(Runtime::Mt, Place::Free), (Runtime::Ct, Place::Split)];

impl Case {
    /// The conditions under which `measure` is taken.
    pub(crate) fn of(measure: Measure) -> impl Iterator<Item = Self> {
        let conditions: &[_] = match (measure.group(), measure) {
            (Group::Remote, Measure::RemoteAsk1) => &PINNED,
            (Group::Remote, Measure::RemoteAsk256Of4K) => &LOADED[..1],
            (Group::Remote, _) => &LOADED,
            (Group::Local | Group::Memory | Group::Hot, _) => &FREE,
            (Group::Planner, _) => &FREE[1..],
        };
        conditions.iter().map(move |(runtime, place)| Self {
            measure,
            runtime: *runtime,
            place: *place,
        })
    }

    /// As in the tables: what is measured, then how.
    pub(crate) fn label(self, suffix: &str) -> String {
        let words = [&self.measure.label(), suffix, &self.conditions()];
        let words = words.into_iter().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Where nothing is said about the cores, none were assigned; a plan is made without a runtime.
    pub(crate) fn conditions(self) -> String {
        if self.measure.group() == Group::Planner {
            return String::new();
        }
        let runtime = self.runtime.label();
        match self.place {
            Place::Free => runtime,
            Place::Same | Place::Split => format!("{runtime} {}", self.place.label()),
        }
    }
}

impl Place {
    pub(crate) fn label(self) -> String {
        label(&self)
    }

    /// The core of the process that calls, where it has one.
    pub(crate) fn client_core(self) -> Option<usize> {
        match self {
            Self::Free => None,
            Self::Same | Self::Split => Some(0),
        }
    }

    /// The core of the process that answers, where it has one.
    pub(crate) fn server_core(self) -> Option<usize> {
        match self {
            Self::Free => None,
            Self::Same => Some(0),
            Self::Split => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_the_cores_only_where_they_are_assigned() {
        let labels = |measure, suffix| {
            let cases = Case::of(measure);
            cases.map(|case| case.label(suffix)).collect::<Vec<_>>()
        };
        assert_eq!(labels(Measure::Tell, ""), ["tell mt", "tell ct"]);
        assert_eq!(
            labels(Measure::RemoteAsk1, "cpu"),
            ["remote_ask_1 cpu ct same", "remote_ask_1 cpu ct split"]
        );
        assert_eq!(labels(Measure::Plan, "10x1 lost"), ["plan 10x1 lost"]);
    }
}
