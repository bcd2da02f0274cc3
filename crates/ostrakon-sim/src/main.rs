//! `ostrakon-sim`: runs schedules, replays one, or shows that the checker notices mistakes.

mod args;
mod report;

use std::{process::ExitCode, time::Instant};

use clap::Parser;
use ostrakon_sim::{Campaign, MUTANTS, Mutant, Plane, SECOND, Totals, Writing, run};

use crate::{args::Args, report::Report};

fn main() -> ExitCode {
    let args = Args::parse();
    let well = match (args.reproduce, args.mutants) {
        (Some(seed), _) => reproduce(seed, &args),
        (None, true) => mutants(&args),
        (None, false) => campaign(&args),
    };
    match well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn campaign(args: &Args) -> bool {
    let plane = args.plane();
    let report = Report::new(args);
    let enough_time = args.hours * 3600 * SECOND;
    let campaign = Campaign {
        plane,
        mutant: args.mutant(),
        seed: args.seed,
        threads: args.threads(),
    };
    let started = Instant::now();
    let totals = campaign.run(|totals| {
        report.progress(totals, started.elapsed());
        totals.simulated >= enough_time
    });
    report.totals(&totals, started.elapsed());
    if let Some((seed, _)) = totals.violations.first() {
        let ran = run(*seed, plane, args.mutant(), Writing::TheLast);
        report.violation(*seed, &ran);
    }
    totals.violations.is_empty()
}

/// So many schedules of a mutant that does no harm are enough.
const HARMLESS: u64 = 300;

/// Runs one schedule again, twice: the second time to see that it is the same.
fn reproduce(seed: u64, args: &Args) -> bool {
    let report = Report::new(args);
    let (plane, mutant) = (args.plane(), args.mutant());
    let writing = match args.trace {
        true => Writing::Everything,
        false => Writing::TheLast,
    };
    let ran = run(seed, plane, mutant, writing);
    let again = run(seed, plane, mutant, Writing::Nothing);
    report.reproduced(seed, &ran, again.hash);
    ran.violation.is_none() && ran.hash == again.hash
}

/// Looks for the first schedule that catches each mutant.
fn mutants(args: &Args) -> bool {
    let report = Report::new(args);
    let mut all_as_known = true;
    for mutant in MUTANTS {
        let started = Instant::now();
        let totals = hunt(mutant, args);
        let caught = totals
            .violations
            .first()
            .map(|(seed, violation)| (*seed, violation));
        all_as_known &= caught.is_some() == mutant.harms();
        report.mutant(mutant, args.seed, &totals, started.elapsed());
    }
    all_as_known
}

fn hunt(mutant: Mutant, args: &Args) -> Totals {
    let plane = mutant.only_in().unwrap_or_else(|| args.plane());
    let limit = match mutant.harms() {
        true => args.schedules,
        false => args.schedules.min(HARMLESS),
    };
    let campaign = Campaign {
        plane,
        mutant: Some(mutant),
        seed: args.seed,
        threads: args.threads(),
    };
    campaign.run(|totals| totals.schedules >= limit)
}

/// The name of a plane, as it is given on the command line.
fn name_of(plane: Plane) -> &'static str {
    match plane {
        Plane::Managed => "managed",
        Plane::Peer => "peer",
    }
}
