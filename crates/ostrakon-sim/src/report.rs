//! `Report`: what is printed, for people or for programs.

use std::{
    io::{IsTerminal, Write, stderr, stdout},
    time::Duration,
};

use ostrakon_sim::{Mutant, Plane, Ran, SECOND, Tally, Totals, Violation};
use serde_json::{Value, json};

use crate::{args::Args, name_of};

pub(crate) struct Report {
    plane: Plane,
    mutant: Option<Mutant>,
    json: bool,
    /// How many hours are to be simulated.
    hours: u64,
}

impl Report {
    pub(crate) fn new(args: &Args) -> Self {
        Self {
            plane: args.plane(),
            mutant: args.mutant(),
            json: args.json,
            hours: args.hours,
        }
    }

    /// One line that is written over, where somebody looks at it.
    pub(crate) fn progress(&self, totals: &Totals, took: Duration) {
        if self.json || !stderr().is_terminal() {
            return;
        }
        let Totals {
            schedules, events, ..
        } = totals;
        let simulated = hours(totals.simulated);
        eprint!(
            "\r{schedules} schedules, {simulated:.1} of {} simulated hours, {events} events, {:.0} s ",
            self.hours,
            took.as_secs_f64()
        );
        let _ = stderr().flush();
    }

    pub(crate) fn totals(&self, totals: &Totals, took: Duration) {
        let plane = name_of(self.plane);
        let Totals {
            schedules,
            events,
            tally,
            violations,
            ..
        } = totals;
        let simulated = hours(totals.simulated);
        let pace = simulated * 60.0 / took.as_secs_f64();
        if self.json {
            let object = json!({
                "plane": plane,
                "schedules": schedules,
                "simulated_hours": simulated,
                "events": events,
                "tally": tally_json(tally),
                "violations": violations.iter().map(violation_json).collect::<Vec<_>>(),
                "seconds": took.as_secs_f64(),
                "simulated_hours_per_minute": pace,
            });
            println!("{object}");
            return;
        }
        if stderr().is_terminal() {
            eprintln!();
        }
        println!("plane                        {plane}");
        println!("schedules                    {schedules}");
        println!("simulated hours              {simulated:.1}");
        println!("events                       {events}");
        print_tally(tally);
        println!("violations                   {}", violations.len());
        println!("simulated hours per minute   {pace:.1}");
    }

    pub(crate) fn violation(&self, seed: u64, ran: &Ran) {
        let Some(violation) = &ran.violation else {
            eprintln!(
                "seed {seed} broke something and does not when it is run again: the simulator is not deterministic"
            );
            return;
        };
        if !self.json {
            print_violation(seed, violation, &ran.last);
            let plane = name_of(self.plane);
            let mutant = self
                .mutant
                .map(|mutant| format!(" --mutant '{mutant}'"))
                .unwrap_or_default();
            println!(
                "to see it again: ostrakon-sim --plane {plane}{mutant} --reproduce {seed} --trace"
            );
        }
    }

    pub(crate) fn reproduced(&self, seed: u64, ran: &Ran, again: u64) {
        if self.json {
            let object = json!({
                "seed": seed,
                "trace": format!("{:016x}", ran.hash),
                "trace_again": format!("{again:016x}"),
                "events": ran.events,
                "tally": tally_json(&ran.tally),
                "violation": ran.violation.as_ref().map(|found| violation_json(&(seed, found.clone()))),
            });
            println!("{object}");
            return;
        }
        if let Some(violation) = &ran.violation {
            print_violation(seed, violation, &ran.last);
        }
        println!("seed                         {seed}");
        println!("trace                        {:016x}", ran.hash);
        println!("trace when run again         {again:016x}");
        println!(
            "simulated minutes            {:.1}",
            ran.lasted as f64 / (60.0 * SECOND as f64)
        );
        println!("events                       {}", ran.events);
        print_tally(&ran.tally);
    }

    pub(crate) fn mutant(&self, mutant: Mutant, first: u64, totals: &Totals, took: Duration) {
        let caught = totals.violations.first();
        let survived = caught.map_or(totals.schedules, |(seed, _)| seed - first);
        if self.json {
            let object = json!({
                "mutant": mutant.to_string(),
                "survived": survived,
                "caught": caught.map(violation_json),
                "harms": mutant.harms(),
            });
            println!("{object}");
            return;
        }
        let verdict = match caught {
            Some((seed, violation)) => format!("caught by seed {seed}: {}", violation.invariant),
            None if mutant.harms() => "NOT CAUGHT".to_owned(),
            None => "does no harm, as expected: another rule does its work".to_owned(),
        };
        println!(
            "{:<34} survived {survived:>5} schedules, {verdict} ({:.1} s)",
            mutant.to_string(),
            took.as_secs_f64()
        );
        let _ = stdout().flush();
    }
}

fn hours(simulated: u64) -> f64 {
    simulated as f64 / (3600.0 * SECOND as f64)
}

fn print_violation(seed: u64, violation: &Violation, last: &[String]) {
    println!("\nVIOLATION of \"{}\"", violation.invariant);
    println!("  seed   {seed}");
    println!("  moment {:.6} s", violation.at as f64 / SECOND as f64);
    println!("  what   {}", violation.what);
    if !last.is_empty() {
        println!("  the last events:");
    }
    for line in last {
        println!("  {line}");
    }
}

fn print_tally(tally: &Tally) {
    let changes = tally.grants + tally.freed;
    println!("changes of ownership         {changes}");
    println!("  grants                     {}", tally.grants);
    println!("  moves begun                {}", tally.moves);
    println!("  runs expired               {}", tally.expiries);
    println!("  runs known to be dead      {}", tally.deaths);
    println!("  takeovers                  {}", tally.takeovers);
    println!("clusters formed by gossip    {}", tally.clusters);
    println!("members seen to be down      {}", tally.suspicions);
    println!("messages sent                {}", tally.sent);
    println!("  handled                    {}", tally.handled);
    println!("  asks: replied to           {}", tally.replies);
    println!("  asks: surely not handled   {}", tally.not_handled);
    println!("  asks: unknown              {}", tally.unknown);
}

fn tally_json(tally: &Tally) -> Value {
    json!({
        "grants": tally.grants,
        "moves": tally.moves,
        "freed": tally.freed,
        "expiries": tally.expiries,
        "deaths": tally.deaths,
        "takeovers": tally.takeovers,
        "registrations": tally.registrations,
        "clusters": tally.clusters,
        "suspicions": tally.suspicions,
        "sent": tally.sent,
        "handled": tally.handled,
        "replies": tally.replies,
        "not_handled": tally.not_handled,
        "unknown": tally.unknown,
    })
}

fn violation_json((seed, violation): &(u64, Violation)) -> Value {
    json!({
        "seed": seed,
        "invariant": violation.invariant,
        "at_seconds": violation.at as f64 / SECOND as f64,
        "what": violation.what,
    })
}
