//! The loops that are measured, the same for every contender.
//!
//! Every answer is checked: a contender that loses, doubles or mixes up a message
//! fails instead of looking fast. A tenth of each loop runs first and is thrown
//! away. What crosses to another process is measured in `remote`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::contenders::{Contender, Crowd, id_of};
use crate::drive::drive;
use crate::figures::{BYTES, FLOOD, Figures, P50, P99, P99_QUIET, RATE, SLOWDOWN};
use crate::machine;
use crate::measure::{Measure, Pace, Runtime};
use crate::reach::{ByHandle, ById, Reach};

/// How many tells share one look at the clock; also where the producer yields, so
/// that an unbounded mailbox does not starve its reader of the only thread.
const BURST: u64 = 1024;
/// Neighbours of the flooded entity, and entities for the spread asks.
const MANY: u64 = 1000;
const CALLERS: u64 = 64;
/// Creation is timed in this many slices.
const SLICES: u64 = 100;

/// Take any measurement but memory.
pub(crate) fn run<C: Contender>(measure: Measure, runtime: Runtime, pace: Pace) -> Result<Figures> {
    let length = pace.length();
    C::run(runtime, async move {
        let mut contender = C::start(runtime).await?;
        contender.create(0..MANY + 1).await?;
        match measure {
            Measure::Tell | Measure::TellUnbounded => tell(&contender, length).await,
            Measure::Ask1 => ask::<C, _>(ByHandle::new(&contender, 1)?, 1, length).await,
            Measure::Ask64 => ask::<C, _>(ByHandle::new(&contender, 1)?, CALLERS, length).await,
            Measure::Ask64Over1000 => {
                ask::<C, _>(ByHandle::new(&contender, MANY)?, CALLERS, length).await
            }
            Measure::Ask64Over1000ById => {
                ask::<C, _>(ById::new(contender, MANY), CALLERS, length).await
            }
            Measure::Hot => hot(&contender, length).await,
            Measure::Memory => bail!("memory is measured on its own"),
            Measure::RemoteAsk1
            | Measure::RemoteAsk64
            | Measure::RemoteAsk256
            | Measure::RemoteAsk1024
            | Measure::RemoteAsk256Of4K
            | Measure::RemoteTell
            | Measure::RemoteTell4K
            | Measure::RemoteStream
            | Measure::RemoteStream4K
            | Measure::RemoteTls
            | Measure::RemoteTls4K
            | Measure::RemoteBurst => bail!("takes two processes"),
            Measure::Plan => bail!("takes no contender"),
        }
    })
}

async fn tell<C: Contender>(contender: &C, length: Duration) -> Result<Figures> {
    let target = contender.handle(&id_of(0))?;
    let warm = C::spawn(flood::<C>(target.clone(), 0, length / 10)).await??;
    let started = Instant::now();
    let sum = C::spawn(flood::<C>(target, warm, length)).await??;
    let rate = (sum - warm) as f64 / started.elapsed().as_secs_f64();
    Ok(Figures::default().with(RATE, rate))
}

/// Tell the entity 1 as fast as it goes, then make sure that all of it arrived.
/// `sum` is what it held before; returns what it holds afterwards.
async fn flood<C: Contender>(target: C::Handle, mut sum: u64, length: Duration) -> Result<u64> {
    let deadline = Instant::now() + length;
    while Instant::now() < deadline {
        for _ in 0..BURST {
            C::tell(&target, 1).await?;
        }
        sum += BURST;
        tokio::task::yield_now().await;
    }
    let held = C::ask(&target, 0).await?;
    ensure!(held == sum, "{sum} tells were sent but {held} arrived");
    Ok(sum)
}

async fn ask<C: Contender, R: Reach>(reach: R, callers: u64, length: Duration) -> Result<Figures> {
    let reach = Arc::new(reach);
    drive::<C, R>(&reach, callers, length / 10).await?;
    let calls = drive::<C, R>(&reach, callers, length).await?;
    Ok(Figures::default()
        .with(RATE, calls.rate)
        .with(P50, calls.micros(0.5))
        .with(P99, calls.micros(0.99)))
}

async fn hot<C: Contender>(contender: &C, length: Duration) -> Result<Figures> {
    let neighbours = Arc::new(ByHandle::<C>::new(contender, MANY)?);
    let target = contender.handle(&id_of(MANY))?;
    drive::<C, _>(&neighbours, CALLERS, length / 10).await?;
    let quiet = drive::<C, _>(&neighbours, CALLERS, length).await?;
    let flood = C::spawn(flood::<C>(target, 0, length));
    let flooded = drive::<C, _>(&neighbours, CALLERS, length).await?;
    flood.await??;
    let (quiet, flooded) = (quiet.micros(0.99), flooded.micros(0.99));
    Ok(Figures::default()
        .with(P99_QUIET, quiet)
        .with(P99, flooded)
        .with(FLOOD, flooded / quiet))
}

/// Create `count` entities, leave them idle and see what they occupy.
pub(crate) fn memory<C: Crowd>(runtime: Runtime, count: u64) -> Result<Figures> {
    C::run(runtime, async move {
        let mut crowd = C::start(runtime).await?;
        let before = machine::resident_bytes()?;
        let seconds = create_in_slices(&mut crowd, count / SLICES).await?;
        let occupied = machine::resident_bytes()?.saturating_sub(before);
        for number in (0..count).step_by(997) {
            let answer = crowd.ask_by_id(&id_of(number), number).await?;
            ensure!(answer == number, "entity {number} is not as it was created");
        }
        let tenth = seconds.len() / 10;
        let first = seconds[..tenth].iter().sum::<f64>();
        let last = seconds[seconds.len() - tenth..].iter().sum::<f64>();
        Ok(Figures::default()
            .with(BYTES, occupied as f64 / count as f64)
            .with(RATE, count as f64 / seconds.iter().sum::<f64>())
            .with(SLOWDOWN, last / first))
    })
}

/// The seconds that each slice took.
async fn create_in_slices<C: Crowd>(crowd: &mut C, slice: u64) -> Result<Vec<f64>> {
    let mut seconds = Vec::new();
    for number in 0..SLICES {
        let started = Instant::now();
        crowd.create(number * slice..(number + 1) * slice).await?;
        seconds.push(started.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
