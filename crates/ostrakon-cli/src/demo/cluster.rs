//! The bank on several nodes: real processes, which are disturbed in real ways.
//!
//! This process is a client of the cluster: it starts a manager and nodes, lets tellers work against them, does to them what it was
//! told to, and in the end compares: what was acknowledged with what the accounts hold, and what the journals say with what must never
//! be. All processes end with this one, however it ends.

mod child;
mod cut;
mod fault;
mod folder;
mod member;

use std::{
    num::NonZero,
    sync::Arc,
    thread::available_parallelism,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use ostrakon::{GroupName, Managed, Node};
use tokio::task::JoinSet;

use self::{child::Child, cut::Line, folder::Folder};
pub(crate) use self::{
    fault::Fault,
    member::{MemberOptions, run as run_member},
};
use super::{
    Options,
    account::{self, Account, OPENING_BALANCE},
    audit::Audit,
    options::Failover,
    oracle::{Findings, Oracle},
    progress::{Progress, Sample},
    summary::Summary,
    teller::{Promise, Shift, Teller},
};

/// How long a process may take to be there.
const BEGINNING: Duration = Duration::from_secs(30);
/// How long after a fault what happens is put down to it.
const AFTERMATH: Duration = Duration::from_secs(1);
/// How long the cluster gets to come to rest before accounts are asked what they hold.
const REST: Duration = Duration::from_secs(90);

/// A bank on several nodes.
pub(crate) struct Cluster<'o> {
    options: &'o Options,
    folder: Folder,
    managers: Vec<Chief>,
    nodes: Vec<Member>,
    shift: Arc<Shift>,
}

/// A manager's process.
pub(crate) struct Chief {
    name: String,
    address: String,
    child: Child,
}

/// A node's process, and its lines to the managers.
pub(crate) struct Member {
    name: String,
    child: Child,
    lines: Vec<Line>,
}

impl<'o> Cluster<'o> {
    pub(crate) async fn open(options: &'o Options) -> anyhow::Result<Self> {
        let folder = Folder::new()?;
        if options.managers > 1 && options.storage.is_none() {
            bail!(
                "several managers need a --storage that they can share: postgres://… or redis://…"
            );
        }
        let mut managers = Vec::new();
        for number in 1..=options.managers {
            // One after the other, so that the first one leads.
            let (name, address) = (format!("manager-{number}"), free_address()?);
            managers.push(Chief::start(options, &folder, name, address).await?);
        }
        let addresses: Vec<_> = managers.iter().map(|one| one.address.clone()).collect();
        let mut starting = Vec::new();
        for number in 1..=options.nodes {
            let name = format!("node-{number}");
            starting.push(Member::start(name, &addresses, &folder, "1"));
        }
        let nodes = futures_util::future::try_join_all(starting).await?;
        let client = Node::builder("demo")
            .managed(
                Managed::by(addresses)
                    .cluster(folder.name())
                    .join_within(BEGINNING),
            )
            .reach::<Account>(GroupName::default())
            .start()
            .await
            .context("cannot join the cluster as its client")?;
        let oracle = Oracle::new(options.accounts);
        Ok(Self {
            options,
            folder,
            managers,
            nodes,
            shift: Arc::new(Shift::new(client, oracle, Promise::Possible)),
        })
    }

    pub(crate) async fn run(mut self) -> anyhow::Result<Summary> {
        let began = Instant::now();
        let mut staff = JoinSet::new();
        for number in 0..self.options.tellers {
            staff.spawn(Teller::new(number, Arc::clone(&self.shift)).work());
        }
        let disturbed = self.disturb(began).await;
        self.shift.close();
        let seconds = began.elapsed().as_secs_f64();
        while let Some(ended) = staff.join_next().await {
            ended.context("a teller panicked")?;
        }
        disturbed?;
        let findings = self.check().await;
        self.shift
            .node()
            .leave()
            .await
            .context("the client did not stop")?;
        for member in &mut self.nodes {
            member.child.end().await;
        }
        for manager in &mut self.managers {
            manager.child.end().await;
        }
        let audit = Audit::of(&self.folder.journal()).context("cannot read the journals")?;
        Ok(self.summary(seconds, findings, &audit))
    }

    /// Lets everybody work until the time is over or the user has seen enough, and does what was asked for meanwhile.
    async fn disturb(&mut self, began: Instant) -> anyhow::Result<()> {
        let shift = Arc::clone(&self.shift);
        let showing = show_progress(self.options, shift);
        let ends = began + self.options.run_for;
        let working = async {
            let parts = self.options.faults.len() as u32 + 1;
            for (number, fault) in (1..).zip(&self.options.faults) {
                let at = began + self.options.run_for * number / (parts + 1);
                tokio::time::sleep_until(at.into()).await;
                eprintln!("fault: {fault}");
                self.shift.disturbed(true);
                let happened = fault.happen(self).await;
                happened.with_context(|| format!("cannot do: {fault}"))?;
                tokio::time::sleep(AFTERMATH.min(ends.saturating_duration_since(Instant::now())))
                    .await;
                self.shift.disturbed(false);
            }
            tokio::time::sleep_until(ends.into()).await;
            anyhow::Ok(())
        };
        tokio::select! {
            () = showing => Ok(()),
            done = working => done,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.context("cannot listen for Ctrl-C")?;
                tokio::spawn(super::exit_at_the_next_interrupt());
                Ok(())
            }
        }
    }

    /// Asks every account what it holds and lets the oracle judge.
    async fn check(&self) -> Findings {
        let until = Instant::now() + REST;
        let mut asking = JoinSet::new();
        let mut findings = Findings::default();
        for number in 0..self.options.accounts {
            let shift = Arc::clone(&self.shift);
            asking.spawn(async move {
                loop {
                    let account = shift.node().entity::<Account>(account::id(number));
                    match account.statement().await {
                        Ok(statement) => return shift.oracle.check(number, &statement),
                        Err(_) if Instant::now() < until => {
                            tokio::time::sleep(Duration::from_millis(200)).await;
                        }
                        Err(error) => {
                            eprintln!("{}: {error}", account::id(number));
                            return Findings::unchecked();
                        }
                    }
                }
            });
            if asking.len() >= 256 {
                findings += joined(asking.join_next().await);
            }
        }
        while let Some(found) = asking.join_next().await {
            findings += joined(Some(found));
        }
        findings
    }

    fn summary(&self, seconds: f64, findings: Findings, audit: &Audit) -> Summary {
        let tally = self.shift.tally();
        let opening = i64::from(self.options.accounts) * OPENING_BALANCE;
        Summary {
            plane: "managed",
            nodes: self.options.nodes,
            seconds,
            cores: available_parallelism().map_or(1, NonZero::get),
            accounts: self.options.accounts,
            tellers: self.options.tellers,
            acknowledged: tally.acknowledged,
            refused: tally.refused,
            tells: tally.tells,
            failed: tally.failed,
            unknown: tally.unknown,
            lost: findings.lost,
            duplicated: findings.duplicated,
            unchecked: findings.unchecked,
            money_missing: opening - tally.in_transit - findings.money,
            overlaps: audit.overlaps,
            moves: audit.moves,
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
            p99_disturbed_us: tally.disturbed_us(0.99),
            longest_gap_ms: tally.longest_gap.as_secs_f64() * 1e3,
            smallest_handover_us: audit.smallest_gap_ns.map(|gap| gap as f64 / 1e3),
            messages_per_second: tally.messages() as f64 / seconds,
            entities_started: audit.lives,
            entities_stopped: audit.lives,
            panics: 0,
            restarts: 0,
            dead_letters: 0,
        }
    }
}

impl Member {
    async fn start(
        name: String,
        managers: &[String],
        folder: &Folder,
        version: &str,
    ) -> anyhow::Result<Self> {
        let mut arguments = vec!["demo-node".to_owned()];
        let mut argue = |name: &str, value: &str| {
            arguments.extend([name.to_owned(), value.to_owned()]);
        };
        argue("--name", &name);
        argue("--node-version", version);
        argue("--cluster", folder.name());
        let journal = folder.journal();
        argue(
            "--journal",
            journal.to_str().context("the folder has a strange name")?,
        );
        let mut lines = Vec::new();
        for manager in managers {
            let line = Line::to(manager).await?;
            argue("--manager", &line.address().to_string());
            lines.push(line);
        }
        let child = Child::start(&arguments)?;
        let joined = child.said("ready", BEGINNING).await;
        joined.with_context(|| format!("{name} did not join"))?;
        Ok(Self { name, child, lines })
    }
}

impl Chief {
    async fn start(
        options: &Options,
        folder: &Folder,
        name: String,
        address: String,
    ) -> anyhow::Result<Self> {
        let file = format!("file:{}", folder.log().display());
        let storage = options.storage.as_ref().unwrap_or(&file);
        let arguments = [
            "manager",
            "--name",
            &name,
            "--listen",
            &address,
            "--admin-listen",
            "127.0.0.1:0",
            "--storage",
            storage,
            "--cluster",
            folder.name(),
            "--failover",
            options.failover.as_str(),
            "--log",
            "error",
        ];
        let mut arguments = arguments.map(str::to_owned).to_vec();
        if options.failover == Failover::Lease {
            arguments.extend(["--lease-profile".to_owned(), "fast".to_owned()]);
        }
        let child = Child::start(&arguments)?;
        let started = child.said("manager", BEGINNING).await;
        started.with_context(|| format!("{name} did not start"))?;
        Ok(Self {
            name,
            address,
            child,
        })
    }
}

/// A loopback address that nobody uses at the moment.
fn free_address() -> anyhow::Result<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}

fn joined(found: Option<Result<Findings, tokio::task::JoinError>>) -> Findings {
    match found {
        Some(Ok(findings)) => findings,
        Some(Err(_)) => Findings::unchecked(),
        None => Findings::default(),
    }
}

async fn show_progress(options: &Options, shift: Arc<Shift>) {
    let mut progress = Progress::new(options);
    loop {
        tokio::time::sleep(progress.period()).await;
        let tally = shift.tally();
        progress.show(&Sample {
            messages: tally.messages(),
            entities: None,
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
        });
    }
}
