//! `Campaign`: many schedules, one seed after the other.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::{
    agenda::Moment, mutant::Mutant, setup::Plane, tally::Tally, trace::Writing,
    violation::Violation, world::run,
};

/// Many schedules.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// In which plane.
    pub plane: Plane,
    /// What is done wrong in them.
    pub mutant: Option<Mutant>,
    /// The first seed.
    pub seed: u64,
    /// How many threads run schedules.
    pub threads: usize,
}

/// What a campaign was.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// How many schedules.
    pub schedules: u64,
    /// How much time they simulated, in nanoseconds.
    pub simulated: Moment,
    /// How many events they had.
    pub events: u64,
    /// What happened in them.
    pub tally: Tally,
    /// The seeds that broke something, the lowest first.
    pub violations: Vec<(u64, Violation)>,
}

impl Campaign {
    /// Runs schedules until `enough` says so or something is broken. `enough` is asked after every schedule.
    pub fn run(&self, enough: impl Fn(&Totals) -> bool + Sync) -> Totals {
        let totals = Mutex::new(Totals::default());
        let next = AtomicU64::new(self.seed);
        let stop = AtomicBool::new(false);
        let work = || {
            while !stop.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                let ran = run(seed, self.plane, self.mutant, Writing::Nothing);
                let Ok(mut totals) = totals.lock() else {
                    return;
                };
                totals.schedules += 1;
                totals.simulated += ran.lasted;
                totals.events += ran.events;
                totals.tally.add(&ran.tally);
                let is_broken = ran.violation.is_some();
                totals
                    .violations
                    .extend(ran.violation.map(|violation| (seed, violation)));
                if is_broken || enough(&totals) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(work);
            }
        });
        let mut totals = totals.into_inner().unwrap_or_default();
        totals.violations.sort_by_key(|(seed, _)| *seed);
        totals
    }
}
