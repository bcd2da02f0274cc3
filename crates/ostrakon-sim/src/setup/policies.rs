//! Policies: by which rules a cluster of a seed lives.

use std::time::Duration;

use ostrakon_core::{Failover, LeaseTimes, LeaseTiming, Placement, Policy, Rate, UnsafeTiming};

use super::Plane;
use crate::{
    agenda::{Moment, SECOND},
    dice::Dice,
    mutant::Mutant,
};

pub(super) fn policy(plane: Plane, mutant: Option<Mutant>, dice: &mut Dice) -> Policy {
    let proof = plane == Plane::Managed && dice.chance(300);
    let lease = LeaseTiming::new(times(dice)).expect("safe times");
    let failover = match mutant.and_then(|mutant| unsafe_times(mutant, lease.times())) {
        Some(times) => Failover::Lease(LeaseTiming::unchecked(times)),
        None if proof => Failover::Proof,
        None => Failover::Lease(lease),
    };
    let rate = dice.between(100, 500) as u16;
    Policy {
        failover,
        placement: [
            Placement::AtOnce,
            Placement::AtOnce,
            Placement::AtFirstAccess,
        ][dice.index(3)],
        rebalance_every: Duration::from_secs(dice.between(4, 10)),
        rebalance_rate: Rate::from_permille(rate).expect("a rate"),
        most_moving: dice.between(3, 8) as u16,
        ..Policy::default()
    }
}

/// One of the profiles, half of the time with the shortest wait that is safe.
fn times(dice: &mut Dice) -> LeaseTimes {
    let profile = [LeaseTiming::default(), LeaseTiming::fast()][dice.index(2)];
    let mut times = profile.times();
    if dice.chance(600) {
        times.wait = Duration::ZERO;
        if let Err(UnsafeTiming::WaitTooShort { needed, .. }) = LeaseTiming::new(times) {
            times.wait = needed;
        }
    }
    times
}

fn unsafe_times(mutant: Mutant, safe: LeaseTimes) -> Option<LeaseTimes> {
    let LeaseTimes {
        hold,
        slack,
        drift_permille,
        ..
    } = safe;
    let drift = u32::from(drift_permille);
    let wait = match mutant {
        Mutant::NoMargin => hold,
        Mutant::WaitWithoutDrift => hold + slack,
        Mutant::WaitWithoutSlack => hold * (1000 + drift) / (1000 - drift),
        Mutant::Without(_)
        | Mutant::EndlessTermination
        | Mutant::CheckOutsideTheLock
        | Mutant::LogTakesAll
        | Mutant::LeaderWithoutQuorum
        | Mutant::SilenceIsDeath
        | Mutant::UnknownIsDone
        | Mutant::UnknownIsRetried
        | Mutant::LogWithoutIndexes
        | Mutant::ExpireWithoutCount
        | Mutant::AbsolvedIsStillExpired => return None,
    };
    Some(LeaseTimes { wait, ..safe })
}

/// Where nothing but proof counts there must be some.
pub(super) fn health(policy: &Policy, later: Option<&Policy>, dice: &mut Dice) -> u64 {
    let by_proof = |policy: &Policy| policy.failover == Failover::Proof;
    match by_proof(policy) || later.is_some_and(by_proof) {
        true => dice.between(600, 900),
        false => [0, 300, 800][dice.index(3)],
    }
}

/// How long it may take until all is well again.
pub(super) fn calm(policy: &Policy) -> Moment {
    let wait = policy
        .failover
        .lease()
        .map_or(10, |timing| timing.times().wait.as_secs() + 1);
    (330 + 4 * wait) * SECOND
}
