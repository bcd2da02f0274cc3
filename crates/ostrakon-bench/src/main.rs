//! Ostrakon beside the raw limit of tokio and its peers, in one run.
//!
//! This is a report, not a gate: a missed target is printed as missed and the
//! exit code stays 0; only a measurement that could not be taken fails the run.
//! Every measurement happens in a child process of this same binary, so that no
//! run inherits the heap, the threads or the caches of another.

mod case;
mod contenders;
mod docs;
mod drive;
mod entrants;
mod figures;
mod harness;
mod line;
mod machine;
mod measure;
mod planner;
mod reach;
mod remote;
mod report;
mod row;
mod server;
mod spin;
mod table;
mod target;
mod workload;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use case::{Case, Place};
use contenders::Name;
use docs::Conditions;
use measure::{Group, Link, Measure, Pace, Runtime, label};
use report::Report;

/// Measure Ostrakon beside the raw limit and its peers.
#[derive(Parser)]
#[command(name = "ostrakon-bench")]
struct Args {
    /// Two short rounds instead of five: shows that everything runs, not how fast
    #[arg(long, global = true)]
    quick: bool,
    /// Only these groups (comma list)
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Group>,
    /// Write the rows as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write docs/benchmarks.md
    #[arg(long)]
    write_docs: bool,
    #[command(subcommand)]
    child: Option<Child>,
}

#[derive(Subcommand)]
enum Child {
    /// Take one measurement and print it as one line of JSON
    #[command(hide = true)]
    RunOne {
        contender: Name,
        measure: Measure,
        runtime: Runtime,
        place: Place,
    },
    /// Host the entities of a remote measurement until stdin closes
    #[command(hide = true)]
    Serve {
        contender: Name,
        runtime: Runtime,
        link: Link,
    },
    /// Keep one core awake until stdin closes
    #[command(hide = true)]
    Spin,
}

impl Args {
    fn pace(&self) -> Pace {
        if self.quick { Pace::Quick } else { Pace::Full }
    }

    /// What to type to take the same measurements again.
    fn command(&self) -> String {
        let only = self.only.iter().map(label).collect::<Vec<_>>().join(",");
        let features = if cfg!(feature = "peers") {
            " --features peers"
        } else {
            ""
        };
        let mut words = vec![format!(
            "cargo run --release -p ostrakon-bench{features} --"
        )];
        if self.quick {
            words.push("--quick".to_owned());
        }
        if !only.is_empty() {
            words.push(format!("--only {only}"));
        }
        words.push("--write-docs".to_owned());
        words.join(" ")
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.child {
        Some(Child::Spin) => spin::spin(),
        Some(Child::RunOne {
            contender,
            measure,
            runtime,
            place,
        }) => {
            let case = Case {
                measure,
                runtime,
                place,
            };
            run_one(contender, case, args.pace())
        }
        Some(Child::Serve {
            contender,
            runtime,
            link,
        }) => server::serve(contender, runtime, link),
        None => compare(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

fn run_one(name: Name, case: Case, pace: Pace) -> Result<ExitCode> {
    harness::give_up_after_a_while();
    let figures = match case.measure.group() {
        Group::Remote => remote::run(name, case, pace)?,
        Group::Planner => planner::run(pace)?,
        Group::Local | Group::Memory | Group::Hot => {
            contenders::run(name, case.measure, case.runtime, pace)?
        }
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(ExitCode::SUCCESS)
}

fn compare(args: &Args) -> Result<ExitCode> {
    let load = machine::load_average();
    let spinners = spin::Spinners::start();
    eprintln!("{}", spinners.describe());
    let comparisons = harness::run(&Measure::selected(&args.only), args.pace());
    let awake = spinners.describe();
    drop(spinners);

    let report = Report::new(&comparisons);
    println!("\n{}", report.tables());
    if let Some(path) = &args.json {
        fs::write(path, report.json()?).with_context(|| format!("writing {}", path.display()))?;
    }
    if args.write_docs {
        let conditions = Conditions {
            command: args.command(),
            pace: args.pace(),
            awake,
            load,
        };
        docs::write(&report, &conditions)?;
        println!("wrote docs/benchmarks.md");
    }
    for absence in report.absences() {
        eprintln!("did not take part: {absence}");
    }
    for failure in report.failures() {
        eprintln!("not measured: {failure}");
    }
    Ok(if report.failures().is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
