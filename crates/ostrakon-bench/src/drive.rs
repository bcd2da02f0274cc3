//! Many callers at once, each with one call in flight.
//!
//! Every answer is checked against its question. How many calls share one look at
//! the clock is for the [`Reach`] to say: reading it costs as much as a tenth of a
//! fast call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::contenders::Threads;
use crate::reach::{Dice, Reach};

/// What the callers of one loop saw.
pub(crate) struct Calls {
    pub(crate) count: u64,
    pub(crate) rate: f64,
    /// Of each caller.
    nanos: Vec<Vec<u64>>,
}

impl Calls {
    /// The latency that this share of the calls did not exceed.
    pub(crate) fn micros(&self, quantile: f64) -> f64 {
        let mut nanos = self.nanos.concat();
        let rank = (nanos.len() as f64 * quantile).ceil() as usize;
        let (_, nanos, _) = nanos.select_nth_unstable(rank.max(1) - 1);
        *nanos as f64 / 1000.0
    }
}

/// `callers` tasks that ask until `length` is over, one call in flight each.
pub(crate) async fn drive<T: Threads, R: Reach>(
    reach: &Arc<R>,
    callers: u64,
    length: Duration,
) -> Result<Calls> {
    let started = Instant::now();
    let tasks = (1..=callers)
        .map(|seed| T::spawn(call(reach.clone(), Dice::new(seed), started + length)))
        .collect::<Vec<_>>();
    let mut count = 0;
    let mut nanos = Vec::new();
    for task in tasks {
        let (calls, latencies) = task.await??;
        count += calls;
        nanos.push(latencies);
    }
    let rate = count as f64 / started.elapsed().as_secs_f64();
    Ok(Calls { count, rate, nanos })
}

/// One caller; returns how often it called and the latencies it took, in
/// nanoseconds. They are kept as they come: with a histogram per caller, a
/// thousand callers would measure the cache.
async fn call<R: Reach>(
    reach: Arc<R>,
    mut dice: Dice,
    deadline: Instant,
) -> Result<(u64, Vec<u64>)> {
    let mut nanos = Vec::new();
    let mut calls = 0;
    loop {
        let asked = Instant::now();
        expect(&*reach, &mut dice, calls).await?;
        let answered = Instant::now();
        nanos.push((answered - asked).as_nanos() as u64);
        calls += 1;
        if answered >= deadline {
            return Ok((calls, nanos));
        }
        for _ in 1..R::SAMPLE {
            expect(&*reach, &mut dice, calls).await?;
            calls += 1;
        }
    }
}

async fn expect<R: Reach>(reach: &R, dice: &mut Dice, number: u64) -> Result<()> {
    let index = dice.below(reach.size());
    let answer = reach.ask(index, number).await?;
    ensure!(answer == number, "asked {number}, was answered {answer}");
    // A contender that answers without ever waiting must not keep the thread.
    tokio::task::consume_budget().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_taken_over_the_calls_of_all_callers() {
        let calls = Calls {
            count: 100,
            rate: 1.0,
            nanos: vec![
                (51_000..101_000).step_by(1000).collect(),
                (1000..51_000).step_by(1000).collect(),
            ],
        };
        assert_eq!((calls.micros(0.5), calls.micros(0.99)), (50.0, 99.0));
    }
}
