//! A short share of what the binary does for hours: every test here is a handful of schedules.

use ostrakon_core::Rule;
use ostrakon_sim::{Campaign, MUTANTS, Mutant, Plane, Totals, Writing, run};

/// As many schedules as fit into a test, on two threads.
fn schedules(plane: Plane, count: u64) -> Totals {
    let campaign = Campaign {
        plane,
        mutant: None,
        seed: 1,
        threads: 2,
    };
    campaign.run(|totals| totals.schedules >= count)
}

#[test]
fn with_managers_nothing_goes_wrong() {
    let totals = schedules(Plane::Managed, 12);
    assert_eq!(totals.violations, []);
    assert!(totals.tally.grants > 0 && totals.tally.moves > 0);
    assert!(totals.tally.expiries > 0 && totals.tally.takeovers > 12);
}

#[test]
fn among_peers_nothing_goes_wrong() {
    let totals = schedules(Plane::Peer, 12);
    assert_eq!(totals.violations, []);
    assert!(totals.tally.clusters >= 12 && totals.tally.suspicions > 0);
    assert!(totals.tally.expiries > 0 && totals.tally.takeovers > 12);
}

#[test]
fn the_same_seed_is_the_same_schedule() {
    for plane in [Plane::Managed, Plane::Peer] {
        let hash = |seed| run(seed, plane, None, Writing::Nothing).hash;
        assert_eq!(hash(3), hash(3));
        assert_ne!(hash(3), hash(4));
    }
}

#[test]
fn every_mutant_that_does_harm_is_caught_by_its_seed_or_one_of_the_next() {
    for mutant in MUTANTS.into_iter().filter(|mutant| mutant.harms()) {
        let plane = mutant.only_in().unwrap_or(Plane::Managed);
        let campaign = Campaign {
            plane,
            mutant: Some(mutant),
            seed: seed_of(mutant),
            threads: 2,
        };
        let totals = campaign.run(|totals| totals.schedules >= 60);
        assert!(!totals.violations.is_empty(), "{mutant} is not caught");
    }
}

/// Seeds that catch mutants which the first does not. Any change of a decision makes other schedules of all seeds: then these only
/// save less time, and `ostrakon-sim --mutants` finds better ones.
const SEEDS: [(Mutant, u64); 2] = [
    (Mutant::Without(Rule::CondemnedIsNotAnswered), 80),
    (Mutant::UnknownIsRetried, 61),
];

fn seed_of(mutant: Mutant) -> u64 {
    let found = SEEDS.iter().find(|(known, _)| *known == mutant);
    found.map_or(1, |(_, seed)| *seed)
}
