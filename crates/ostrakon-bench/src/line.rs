//! Which rows a measure gives, and the target of each.
//!
//! The only place where targets are written down as numbers; how a target is
//! judged is in `target`, how a row is shown in `row`.

use crate::contenders::Name;
use crate::figures::{BYTES, FLOOD, RATE, SLOWDOWN};
use crate::measure::{Measure, Runtime};
use crate::target::{Better, Target};

/// One figure of a measure, as a row will show it.
pub(crate) struct Line {
    pub(crate) suffix: &'static str,
    pub(crate) figure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) target: Target,
}

impl Line {
    /// The rows of a measure and their targets.
    pub(crate) fn of(measure: Measure, runtime: Runtime) -> Vec<Self> {
        match measure {
            Measure::Tell => vec![Self::rate("messages/s", tell_target(runtime))],
            Measure::TellUnbounded => vec![Self::rate("messages/s", Target::default())],
            Measure::Ask1
            | Measure::Ask64
            | Measure::Ask64Over1000
            | Measure::Ask64Over1000ById => {
                vec![Self::rate("asks/s", ask_target(runtime))]
            }
            Measure::Hot => vec![Self::at_most("", FLOOD, "× quiet p99", 2.0)],
            Measure::Memory => vec![
                Self::at_most("size", BYTES, "B each", 200.0),
                Self {
                    suffix: "creation",
                    ..Self::rate("entities/s", bounded(1e6))
                },
                Self::at_most("last tenth", SLOWDOWN, "× first tenth", 1.2),
            ],
        }
    }

    fn rate(unit: &'static str, target: Target) -> Self {
        Self {
            suffix: "",
            figure: RATE,
            unit,
            better: Better::Higher,
            target,
        }
    }

    fn at_most(suffix: &'static str, figure: &'static str, unit: &'static str, most: f64) -> Self {
        Self {
            suffix,
            figure,
            unit,
            better: Better::Lower,
            target: bounded(most),
        }
    }
}

fn bounded(bound: f64) -> Target {
    Target {
        bound: Some(bound),
        ..Target::default()
    }
}

/// The lead over the peers is asked for on two threads only: on one thread actix
/// calls its handlers directly and is level with the limit itself.
fn tell_target(runtime: Runtime) -> Target {
    Target {
        of_limit: Some(0.6),
        over_peers: (runtime == Runtime::Mt).then_some((2.0, &[Name::Kameo, Name::Ractor])),
        bound: None,
    }
}

fn ask_target(runtime: Runtime) -> Target {
    Target {
        of_limit: Some(0.75),
        over_peers: (runtime == Runtime::Mt).then_some((1.0, &Name::PEERS)),
        bound: None,
    }
}
