//! Which rows a measure gives, and the target of each.
//!
//! The only place where targets are written down as numbers; how a target is
//! judged is in `target`, how a row is shown in `row`.

use crate::case::{Case, Place};
use crate::contenders::Name;
use crate::figures::{BURST, BYTES, CPU, FLOOD, HEARTBEAT, P50, RATE, SHARE, SLOWDOWN, TAIL};
use crate::measure::{Measure, Runtime};
use crate::planner::SIZES;
use crate::target::{Better, Part, Target};

/// One figure of a measure, as a row will show it.
pub(crate) struct Line {
    /// Empty for the main figure, which the latencies are shown with.
    pub(crate) suffix: &'static str,
    pub(crate) figure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) target: Target,
}

const NO_TARGET: Target = Target(&[]);

/// The lead over the peers is asked for on two threads only: on one thread actix
/// calls its handlers directly and is level with the limit itself.
const TELL: Target = Target(&[
    Part::Share(0.6, Name::Limit),
    Part::Lead(2.0, &[Name::Kameo, Name::Ractor]),
]);
const TELL_ON_ONE_THREAD: Target = Target(&[Part::Share(0.6, Name::Limit)]);
const ASK: Target = Target(&[
    Part::Share(0.75, Name::Limit),
    Part::Lead(1.0, &[Name::Kameo, Name::Ractor, Name::Actix]),
]);
const ASK_ON_ONE_THREAD: Target = Target(&[Part::Share(0.75, Name::Limit)]);

/// Both for the median and for the processor time. Where the kernel takes nearly all of the time, even the bare limit has no such lead.
const REMOTE_ASK_ALONE: Target = Target(&[
    Part::Share(1.25, Name::Framed),
    Part::LeadOrShare(1.5, &[Name::Ractor, Name::Coerce], 1.1, Name::Limit),
]);
const REMOTE_ASK: Target = Target(&[
    Part::Share(0.7, Name::Limit),
    Part::Lead(4.0, &[Name::Ractor, Name::Kameo, Name::Coerce]),
    Part::Lead(1.5, &[Name::Tonic]),
]);
const REMOTE_ASK_CPU: Target = Target(&[Part::Share(1.4, Name::Limit)]);
const REMOTE_BURST: Target = Target(&[Part::Bound(5.0)]);
/// With four threads on two cores even the bare limit waits longer for its turn on the processor: nobody can do better.
const REMOTE_ASK_TAIL: Target = Target(&[Part::BoundOrShare(3.0, 1.0, Name::Limit)]);
const REMOTE_ASK_TAIL_ON_ONE_THREAD: Target = Target(&[Part::Bound(3.0)]);
const REMOTE_TELL: Target = Target(&[Part::BoundOrShare(1e6, 0.8, Name::Framed)]);
const TLS: Target = Target(&[Part::Bound(0.75)]);
const TLS_4K: Target = Target(&[Part::Bound(0.6)]);
const PLAN: Target = Target(&[Part::Bound(100.0)]);
/// Ten times the shards in the time of sorting them: linear would be 10.
const PLAN_GROWTH: Target = Target(&[Part::Bound(12.5)]);

impl Line {
    /// The rows of a measure and their targets.
    pub(crate) fn of(case: Case) -> Vec<Self> {
        let on_two_threads = |there, otherwise| match case.runtime {
            Runtime::Mt => there,
            Runtime::Ct => otherwise,
        };
        match case.measure {
            Measure::Tell => {
                vec![Self::rate(
                    "messages/s",
                    on_two_threads(TELL, TELL_ON_ONE_THREAD),
                )]
            }
            Measure::TellUnbounded => vec![Self::rate("messages/s", NO_TARGET)],
            Measure::Ask1
            | Measure::Ask64
            | Measure::Ask64Over1000
            | Measure::Ask64Over1000ById => {
                vec![Self::rate("asks/s", on_two_threads(ASK, ASK_ON_ONE_THREAD))]
            }
            Measure::Hot => vec![Self::low(
                "",
                FLOOD,
                "× quiet p99",
                Target(&[Part::Bound(2.0)]),
            )],
            Measure::Memory => Self::memory(),
            Measure::RemoteAsk1 => Self::remote_ask_alone(case.place),
            Measure::RemoteAsk64 | Measure::RemoteAsk256 => vec![
                Self::rate("asks/s", on_two_threads(REMOTE_ASK, NO_TARGET)),
                Self::cpu(on_two_threads(REMOTE_ASK_CPU, NO_TARGET)),
                Self::low(
                    "tail",
                    TAIL,
                    "× p50",
                    on_two_threads(REMOTE_ASK_TAIL, REMOTE_ASK_TAIL_ON_ONE_THREAD),
                ),
            ],
            Measure::RemoteAsk1024 | Measure::RemoteAsk256Of4K => {
                vec![Self::rate("asks/s", NO_TARGET), Self::cpu(NO_TARGET)]
            }
            Measure::RemoteTell => {
                vec![Self::rate("messages/s", REMOTE_TELL), Self::cpu(NO_TARGET)]
            }
            Measure::RemoteTell4K => {
                vec![Self::rate("messages/s", NO_TARGET), Self::cpu(NO_TARGET)]
            }
            Measure::RemoteStream | Measure::RemoteStream4K => {
                vec![Self::rate("items/s", NO_TARGET), Self::cpu(NO_TARGET)]
            }
            Measure::RemoteTls => vec![Self::tls(TLS)],
            Measure::RemoteTls4K => vec![Self::tls(TLS_4K)],
            Measure::RemoteBurst => Self::burst(),
            Measure::Plan => Self::plans(),
        }
    }

    fn memory() -> Vec<Self> {
        vec![
            Self::low("size", BYTES, "B each", Target(&[Part::Bound(200.0)])),
            Self {
                suffix: "creation",
                ..Self::rate("entities/s", Target(&[Part::Bound(1e6)]))
            },
            Self::low(
                "last tenth",
                SLOWDOWN,
                "× first tenth",
                Target(&[Part::Bound(1.2)]),
            ),
        ]
    }

    fn burst() -> Vec<Self> {
        vec![
            Self::low("", BURST, "× quiet p50", REMOTE_BURST),
            Self::low("heartbeat", HEARTBEAT, "ms", Target(&[Part::Bound(50.0)])),
            Self {
                suffix: "large",
                ..Self::rate("messages/s", NO_TARGET)
            },
        ]
    }

    fn plans() -> Vec<Self> {
        let lines = SIZES.iter().flat_map(|size| {
            let (time, growth) = match size.is_largest() {
                true => (PLAN, PLAN_GROWTH),
                false => (NO_TARGET, NO_TARGET),
            };
            let times = [size.lost, size.joined].map(|name| Self::low(name, name, "ms", time));
            let growth = size
                .tenth()
                .map(|_| Self::low(size.growth, size.growth, "× a tenth", growth));
            times.into_iter().chain(growth)
        });
        lines.collect()
    }

    /// On two cores the wake-ups outweigh the software, so only one is judged.
    fn remote_ask_alone(place: Place) -> Vec<Self> {
        let target = match place {
            Place::Same => REMOTE_ASK_ALONE,
            Place::Split | Place::Free => NO_TARGET,
        };
        vec![Self::low("", P50, "µs p50", target), Self::cpu(target)]
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

    fn tls(target: Target) -> Self {
        Self {
            figure: SHARE,
            ..Self::rate("× plain", target)
        }
    }

    fn cpu(target: Target) -> Self {
        Self::low("cpu", CPU, "µs each", target)
    }

    fn low(suffix: &'static str, figure: &'static str, unit: &'static str, target: Target) -> Self {
        Self {
            suffix,
            figure,
            unit,
            better: Better::Lower,
            target,
        }
    }
}
