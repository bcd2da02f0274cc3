//! `Gateway`: brings the readings of all sensors in, once a second each, and knows what was acknowledged.
//!
//! A reading is an ask. It is sent when it is due, whatever became of the one before, and never again. Who was due at the same time is
//! asked at the same time: sensors report in [`TICKS`] groups a second. Times are counted from when a reading was due, so that they include
//! whatever kept it from being sent.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use ostrakon::{Node, Outcome};
use tokio::task::JoinSet;

use super::{
    phase::{Figures, Phase, Plan},
    sensor::{self, Aggregate, Sensor, SensorRef},
};

/// In how many groups a second's readings are sent.
const TICKS: u32 = 100;
/// How often each sensor reports.
const SECOND: Duration = Duration::from_secs(1);
/// How many are asked at the same time for what they hold.
const ASKED_AT_ONCE: usize = 512;
/// How long the cluster gets to come to rest before it counts that a sensor does not answer.
const REST: Duration = Duration::from_secs(20);

pub(crate) struct Gateway {
    sensors: Vec<Probe>,
    figures: [Mutex<Figures>; 3],
}

/// A sensor, as it is seen from outside.
struct Probe {
    sensor: SensorRef,
    expected: Mutex<Expected>,
}

/// What a sensor must hold.
struct Expected {
    acknowledged: Aggregate,
    /// How many more readings may be there.
    unknown: u64,
    answered: Instant,
}

/// What a comparison brought to light.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Readings that were acknowledged and are not there.
    pub(crate) lost: u64,
    /// Readings that are there more often than they may be.
    pub(crate) duplicated: u64,
    /// Sensors that did not say what they hold.
    pub(crate) unchecked: u64,
}

impl Gateway {
    pub(crate) fn new(node: &Node, sensors: u32) -> Self {
        let now = Instant::now();
        let probe = |number| Probe {
            sensor: node.entity::<Sensor>(sensor::id(number)),
            expected: Mutex::new(Expected {
                acknowledged: Aggregate::default(),
                unknown: 0,
                answered: now,
            }),
        };
        Self {
            sensors: (0..sensors).map(probe).collect(),
            figures: Default::default(),
        }
    }

    /// Sends every reading when it is due, until the time is over and all are answered or given up.
    pub(crate) async fn bring_in(self: Arc<Self>, plan: Plan) -> anyhow::Result<()> {
        for probe in &self.sensors {
            probe.expected().answered = plan.began;
        }
        let mut ticks = JoinSet::new();
        for tick in 0.. {
            let due = plan.began + SECOND * tick / TICKS;
            let Some(phase) = plan.phase(due) else { break };
            tokio::time::sleep_until(due.into()).await;
            ticks.spawn(Arc::clone(&self).tick(tick, due, phase));
            while let Some(ended) = ticks.try_join_next() {
                ended?;
            }
        }
        while let Some(ended) = ticks.join_next().await {
            ended?;
        }
        // Who was not answered in the end has waited all the same.
        for probe in &self.sensors {
            let gap = plan
                .ends()
                .saturating_duration_since(probe.expected().answered);
            self.figures(Phase::After).tally.gap(gap, None);
        }
        Ok(())
    }

    async fn tick(self: Arc<Self>, tick: u32, due: Instant, phase: Phase) {
        let numbers = (tick % TICKS..self.sensors.len() as u32).step_by(TICKS as usize);
        let reports = numbers.map(|number| {
            let reading = celsius(number, tick / TICKS);
            self.report(&self.sensors[number as usize], reading, due, phase)
        });
        let mut reports: stream::FuturesUnordered<_> = reports.collect();
        while reports.next().await.is_some() {}
    }

    async fn report(&self, probe: &Probe, reading: i32, due: Instant, phase: Phase) {
        let answer = probe.sensor.report(reading).await;
        let now = Instant::now();
        let took = now.saturating_duration_since(due);
        let mut expected = probe.expected();
        let mut figures = self.figures(phase);
        figures.readings += 1;
        match answer {
            Ok(()) => {
                expected.acknowledged.add(reading);
                let gap = now.saturating_duration_since(expected.answered);
                expected.answered = now;
                figures.tally.gap(gap, None);
                figures.tally.answered(took);
                figures.on_time += u64::from(took <= SECOND);
            }
            Err(error) => {
                let outcome = error.outcome();
                figures.tally.not_answered(outcome);
                // Whatever else has happened, its fate is not known from outside.
                expected.unknown += u64::from(outcome != Outcome::NotExecuted);
            }
        }
    }

    /// Asks every sensor what it holds and compares.
    pub(crate) async fn check(&self) -> Findings {
        let until = Instant::now() + REST;
        let asking = stream::iter(&self.sensors).map(|probe| probe.check(until));
        let found = asking.buffer_unordered(ASKED_AT_ONCE);
        let sum = |all: Findings, one: Findings| async move {
            Findings {
                lost: all.lost + one.lost,
                duplicated: all.duplicated + one.duplicated,
                unchecked: all.unchecked + one.unchecked,
            }
        };
        found.fold(Findings::default(), sum).await
    }

    pub(crate) fn figures(&self, phase: Phase) -> MutexGuard<'_, Figures> {
        let figures = self.figures[phase as usize].lock();
        figures.expect("nothing panics while it counts")
    }
}

impl Probe {
    fn expected(&self) -> MutexGuard<'_, Expected> {
        let expected = self.expected.lock();
        expected.expect("nothing panics while it counts")
    }

    async fn check(&self, until: Instant) -> Findings {
        loop {
            match self.sensor.aggregate().await {
                Ok(found) => return self.expected().compare(&found),
                Err(_) if Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(error) => {
                    eprintln!("a sensor does not answer: {error}");
                    return Findings {
                        unchecked: 1,
                        ..Findings::default()
                    };
                }
            }
        }
    }
}

impl Expected {
    fn compare(&self, found: &Aggregate) -> Findings {
        let least = self.acknowledged.count;
        let most = least + self.unknown;
        let mut findings = Findings {
            lost: least.saturating_sub(found.count),
            duplicated: found.count.saturating_sub(most),
            unchecked: 0,
        };
        // The right number of other readings: one of ours is not there.
        if self.unknown == 0 && found.count == least && *found != self.acknowledged {
            findings.lost = 1;
        }
        findings
    }
}

/// A made-up reading, between 0 and 40 degrees: different for each sensor and second, so that one cannot stand for another.
fn celsius(sensor: u32, second: u32) -> i32 {
    let mixed = (sensor.wrapping_mul(31) + second).wrapping_mul(2_654_435_761) >> 8;
    (mixed % 4_000).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(readings: &[i32], unknown: u64) -> Expected {
        Expected {
            acknowledged: aggregate(readings),
            unknown,
            answered: Instant::now(),
        }
    }

    fn aggregate(readings: &[i32]) -> Aggregate {
        let mut aggregate = Aggregate::default();
        readings.iter().for_each(|reading| aggregate.add(*reading));
        aggregate
    }

    fn findings(lost: u64, duplicated: u64) -> Findings {
        Findings {
            lost,
            duplicated,
            unchecked: 0,
        }
    }

    #[test]
    fn a_reading_that_is_missing_is_lost_and_one_too_many_is_duplicated() {
        let expected = expected(&[4, 9], 0);
        assert_eq!(expected.compare(&aggregate(&[4, 9])), findings(0, 0));
        assert_eq!(expected.compare(&aggregate(&[4])), findings(1, 0));
        assert_eq!(expected.compare(&aggregate(&[4, 9, 9])), findings(0, 1));
        assert_eq!(expected.compare(&aggregate(&[4, 8])), findings(1, 0));
    }

    #[test]
    fn a_reading_of_unknown_fate_may_be_there_once() {
        let expected = expected(&[4, 9], 1);
        assert_eq!(expected.compare(&aggregate(&[4, 9])), findings(0, 0));
        assert_eq!(expected.compare(&aggregate(&[4, 9, 7])), findings(0, 0));
        assert_eq!(expected.compare(&aggregate(&[4, 9, 7, 7])), findings(0, 1));
        assert_eq!(expected.compare(&aggregate(&[4])), findings(1, 0));
    }
}
