//! `ostrakon demo`: a bank that runs, is disturbed and is then checked.
//!
//! Tellers move money between accounts while accounts come and go and other entities panic on purpose. An oracle that
//! sits outside the entities notes what was acknowledged; in the end each account must hold exactly that. This file is
//! the wiring: who does what is in the modules below.

mod account;
mod audit;
mod blame;
mod chaos;
pub(crate) mod cluster;
mod failovers;
mod journal;
mod options;
mod oracle;
mod progress;
mod sensors;
mod store;
mod summary;
mod tally;
mod teller;

use std::{fmt::Display, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use clap::error::ErrorKind;
use ostrakon::{DeadLetterSubscription, Entity, Hosting, Node};
use serde::Serialize;
use tokio::{sync::oneshot, task::JoinSet, time::Instant};

pub(crate) use options::Options;

use account::{Account, Books};
use chaos::{Chaos, Crew};
use cluster::{Cluster, Network};
use options::Plane;
use oracle::{Findings, Oracle};
use progress::{Entities, Progress, Sample};
use store::Store;
use summary::Summary;
use teller::{Promise, Shift, Teller};

/// Runs the demo and prints what came of it. The exit code says whether every check held.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if let Err(nonsense) = options.check() {
        clap::Error::raw(ErrorKind::ArgumentConflict, format!("{nonsense}\n")).exit();
    }
    if options.plane != Plane::Solo && options.namespaces && !Network::is_inside() {
        match Network::enter()? {}
    }
    cluster::begin_to_log()?;
    chaos::keep_deliberate_panics_quiet();
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        if let Some(sensors) = options.sensors {
            let report = sensors::run(options, sensors).await?;
            print(options, &report)?;
            return Ok(exit_code(report.all_checks_held()));
        }
        let summary = match options.plane {
            Plane::Solo => Demo::open(options).await?.run().await?,
            Plane::Managed | Plane::Peer => Cluster::open(options).await?.run().await?,
        };
        print(options, &summary)?;
        Ok(exit_code(summary.all_checks_held()))
    })
}

fn print(options: &Options, result: &(impl Serialize + Display)) -> anyhow::Result<()> {
    if options.json {
        println!("{}", serde_json::to_string(result)?);
    } else {
        print!("{result}");
    }
    Ok(())
}

fn exit_code(all_checks_held: bool) -> ExitCode {
    match all_checks_held {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// One run: a node, the bank on it, and those who watch.
struct Demo<'o> {
    options: &'o Options,
    node: Node,
    store: Arc<Store>,
    crew: Arc<Crew>,
    shift: Arc<Shift>,
}

impl<'o> Demo<'o> {
    async fn open(options: &'o Options) -> anyhow::Result<Self> {
        let store = Arc::new(Store::default());
        let crew = Arc::new(Crew::default());
        let node = start_node(options, Arc::clone(&store), Arc::clone(&crew))
            .await
            .context("cannot start the node")?;
        let oracle = Oracle::new(options.accounts);
        let shift = Shift::new(node.clone(), oracle, Promise::Sure);
        Ok(Self {
            options,
            node,
            store,
            crew,
            shift: Arc::new(shift),
        })
    }

    async fn run(self) -> anyhow::Result<Summary> {
        let (left, has_left) = oneshot::channel();
        let letters = tokio::spawn(count_until(has_left, self.node.dead_letters()));
        let opened = Instant::now();
        self.work().await?;
        let seconds = opened.elapsed().as_secs_f64();
        let findings = self.check().await;
        self.node.leave().await.context("the node did not stop")?;
        // Whoever counts may have gone by an error, which `await` below reports.
        let _ = left.send(());
        let dead_letters = letters.await?;
        Ok(self.summary(seconds, findings, dead_letters))
    }

    /// Lets everybody work until the time is over or the user has seen enough.
    async fn work(&self) -> anyhow::Result<()> {
        let mut staff = JoinSet::new();
        for number in 0..self.options.tellers {
            staff.spawn(Teller::new(number, Arc::clone(&self.shift)).work());
        }
        staff.spawn(Arc::clone(&self.crew).disturb(Arc::clone(&self.shift)));
        tokio::select! {
            () = self.show_progress() => {}
            () = tokio::time::sleep(self.options.run_for()) => {}
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.context("cannot listen for Ctrl-C")?;
                tokio::spawn(exit_at_the_next_interrupt());
            }
        }
        self.shift.close();
        while let Some(ended) = staff.join_next().await {
            ended.context("a teller panicked")?;
        }
        Ok(())
    }

    async fn show_progress(&self) {
        let mut progress = Progress::new(self.options);
        loop {
            tokio::time::sleep(progress.period()).await;
            progress.show(&self.sample());
        }
    }

    fn sample(&self) -> Sample {
        let tally = self.shift.tally();
        Sample {
            messages: tally.messages(),
            entities: Some(Entities {
                active: self.node.active(Account::KIND).unwrap_or_default(),
                started: self.store.started(),
                stopped: self.store.stopped(),
                restarts: self.crew.restarts(),
            }),
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
        }
    }

    /// Asks every account what it holds and lets the oracle judge.
    async fn check(&self) -> Findings {
        let mut findings = Findings::default();
        for number in 0..self.options.accounts {
            let account = self.node.entity::<Account>(account::id(number));
            findings += match account.statement().await {
                Ok(statement) => self.shift.oracle.check(number, &statement),
                Err(_) => Findings::unchecked(),
            };
        }
        findings
    }

    fn summary(&self, seconds: f64, findings: Findings, dead_letters: u64) -> Summary {
        Summary {
            overlaps: self.store.overlaps(),
            entities_started: self.store.started() + self.crew.started(),
            entities_stopped: self.store.stopped() + self.crew.stopped(),
            panics: self.crew.panics(),
            restarts: self.crew.restarts(),
            dead_letters,
            ..Summary::of(self.options, seconds, &self.shift.tally(), findings)
        }
    }
}

async fn start_node(
    options: &Options,
    store: Arc<Store>,
    crew: Arc<Crew>,
) -> Result<Node, ostrakon::StartError> {
    let accounts = Hosting::default()
        .idle_after(IDLE_AFTER)
        .active_limit(options.accounts as usize / 10 * 3);
    let chaos = Hosting::default()
        .keep_alive()
        .restart_backoff(FIRST_PAUSE, LONGEST_PAUSE);
    let books = Books::Store(store);
    Node::builder("node-1")
        .host_with(accounts, move |id| Account::new(&books, id))
        .host_with(chaos, move |_| Chaos::new(&crew))
        .start()
        .await
}

/// Counts dead letters until the node has left, those that were written in its last moment included.
async fn count_until(
    mut has_left: oneshot::Receiver<()>,
    mut letters: DeadLetterSubscription,
) -> u64 {
    let mut count = 0;
    loop {
        tokio::select! {
            biased;
            Some(_) = letters.next() => count += 1,
            _ = &mut has_left => return count,
        }
    }
}

/// The first Ctrl-C asks for the summary; who presses it again does not want to wait for that.
async fn exit_at_the_next_interrupt() {
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(130);
    }
}

/// Short, so that accounts come and go within a run of seconds.
const IDLE_AFTER: Duration = Duration::from_millis(250);

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
