//! The loops that are measured between two processes, the same for every
//! contender.
//!
//! This process is the client; it starts the server itself. Processor time is that
//! of both, taken around the measured loop alone. As in `workload`, every answer is
//! checked and a tenth of each loop runs first and is thrown away.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::task::JoinSet;

use crate::case::Case;
use crate::contenders::remote::{Address, Body, Job, Remote, with};
use crate::contenders::{Name, Threads, Tokio};
use crate::drive::drive;
use crate::figures::{
    BURST as BURST_FACTOR, CPU, Figures, HEARTBEAT, P50, P99, RATE, RATE_PLAIN, SHARE, TAIL,
};
use crate::machine;
use crate::measure::{Link, Measure, Pace};
use crate::reach::Reach;
use crate::server::Server;

/// The body of what is called a message of 64 bytes.
const SMALL: usize = 32;
const LARGE: usize = 4 << 10;
const HUGE: usize = 2 << 20;
/// How many huge messages are on their way at once.
const BOMBS: usize = 1;
/// Tells to one entity before a sign of life is asked of it: less than a mailbox holds.
const BURST: u64 = 512;
/// How many entities take turns in being told. Each has at most one burst to do, so that
/// who queues without a bound does not queue a whole run.
const TOLD: u64 = 8;
/// How many bytes of tells are under way at most: half of what a link lets wait.
const UNDER_WAY: u64 = 8 << 20;
/// Calls in flight for the price of encryption.
const TLS_CALLERS: u64 = 256;
/// Items of the stream that finds out how many to ask for.
const TRIAL: u64 = 20_000;

/// Take one measurement that needs two processes.
pub(crate) fn run(name: Name, case: Case, pace: Pace) -> Result<Figures> {
    let length = pace.length();
    with(name, Client { name, case, length })
}

struct Client {
    name: Name,
    case: Case,
    length: Duration,
}

impl Job for Client {
    type Done = Figures;

    fn run<R: Remote>(self) -> Result<Figures> {
        Tokio::run(self.case.runtime, async move {
            let is_watched = self.case.measure == Measure::RemoteBurst;
            let plain = self.start(if is_watched {
                Link::Watched
            } else {
                Link::Plain
            })?;
            match self.case.measure {
                Measure::RemoteAsk1 => self.ask::<R>(&plain, 1, SMALL).await,
                Measure::RemoteAsk64 => self.ask::<R>(&plain, 64, SMALL).await,
                Measure::RemoteAsk256 => self.ask::<R>(&plain, 256, SMALL).await,
                Measure::RemoteAsk1024 => self.ask::<R>(&plain, 1024, SMALL).await,
                Measure::RemoteAsk256Of4K => self.ask::<R>(&plain, 256, LARGE).await,
                Measure::RemoteTell => self.tell::<R>(&plain, SMALL).await,
                Measure::RemoteTell4K => self.tell::<R>(&plain, LARGE).await,
                Measure::RemoteStream => self.stream::<R>(&plain, SMALL).await,
                Measure::RemoteStream4K => self.stream::<R>(&plain, LARGE).await,
                Measure::RemoteTls => self.tls::<R>(&plain, SMALL).await,
                Measure::RemoteTls4K => self.tls::<R>(&plain, LARGE).await,
                Measure::RemoteBurst => self.burst::<R>(&plain).await,
                Measure::Tell
                | Measure::TellUnbounded
                | Measure::Ask1
                | Measure::Ask64
                | Measure::Ask64Over1000
                | Measure::Ask64Over1000ById
                | Measure::Hot
                | Measure::Memory
                | Measure::Plan => bail!("takes one process"),
            }
        })
    }
}

impl Client {
    fn start(&self, link: Link) -> Result<Server> {
        Server::start(self.name, self.case.runtime, self.case.place, link)
    }

    /// `callers` of one call each, every call to a random entity.
    async fn ask<R: Remote>(&self, server: &Server, callers: u64, size: usize) -> Result<Figures> {
        let reach = Arc::new(ByLink::<R>::connect(server, size).await?);
        drive::<Tokio, _>(&reach, callers, self.length / 10).await?;
        let meter = Meter::start(server)?;
        let calls = drive::<Tokio, _>(&reach, callers, self.length).await?;
        let cpu = meter.micros_each(calls.count)?;
        let (p50, p99) = (calls.micros(0.5), calls.micros(0.99));
        Ok(Figures::default()
            .with(RATE, calls.rate)
            .with(CPU, cpu)
            .with(P50, p50)
            .with(P99, p99)
            .with(TAIL, p99 / p50))
    }

    async fn tell<R: Remote>(&self, server: &Server, size: usize) -> Result<Figures> {
        let link = Arc::new(R::connect(&server.address, server.link).await?);
        let warm = flood(&link, 0, size, self.length / 10).await?;
        let (meter, started) = (Meter::start(server)?, Instant::now());
        let count = flood(&link, warm, size, self.length).await? - warm;
        let rate = count as f64 / started.elapsed().as_secs_f64();
        Ok(Figures::default()
            .with(RATE, rate)
            .with(CPU, meter.micros_each(count)?))
    }

    /// One stream, long enough to last for the length of a run.
    async fn stream<R: Remote>(&self, server: &Server, size: usize) -> Result<Figures> {
        let link = R::connect(&server.address, server.link).await?;
        let rate = receive(&link, TRIAL, size).await?;
        let count = (rate * self.length.as_secs_f64()) as u64 + 1;
        let meter = Meter::start(server)?;
        let rate = receive(&link, count, size).await?;
        Ok(Figures::default()
            .with(RATE, rate)
            .with(CPU, meter.micros_each(count)?))
    }

    /// What large messages do to small ones on the same connection.
    ///
    /// It takes four times as long as the other measures: single seconds of it differ by a factor of seven.
    async fn burst<R: Remote>(&self, server: &Server) -> Result<Figures> {
        let length = self.length * 4;
        let reach = Arc::new(ByLink::<R>::connect(server, SMALL).await?);
        drive::<Tokio, _>(&reach, 1, self.length / 10).await?;
        let quiet = drive::<Tokio, _>(&reach, 1, length).await?;
        reach.link.slowest_heartbeat();
        let mut bombs = JoinSet::new();
        let fallen = Arc::new(AtomicU64::new(0));
        for _ in 0..BOMBS {
            bombs.spawn(bombard(Arc::clone(&reach.link), Arc::clone(&fallen)));
        }
        drive::<Tokio, _>(&reach, 1, self.length / 10).await?;
        let (before, began) = (fallen.load(Ordering::Relaxed), Instant::now());
        let loud = drive::<Tokio, _>(&reach, 1, length).await?;
        let large = (fallen.load(Ordering::Relaxed) - before) as f64;
        let rate = large / began.elapsed().as_secs_f64();
        ensure!(bombs.try_join_next().is_none(), "the burst ended early");
        let heartbeat = reach.link.slowest_heartbeat();
        let millis = heartbeat.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
        Ok(Figures::default()
            .with(BURST_FACTOR, loud.micros(0.5) / quiet.micros(0.5))
            .with(HEARTBEAT, millis)
            .with(RATE, rate)
            .with(P50, loud.micros(0.5))
            .with(P99, loud.micros(0.99)))
    }

    async fn tls<R: Remote>(&self, plain: &Server, size: usize) -> Result<Figures> {
        let tls = self.start(Link::Tls)?;
        let plain = self.ask::<R>(plain, TLS_CALLERS, size).await?;
        let tls = self.ask::<R>(&tls, TLS_CALLERS, size).await?;
        let rate = |figures: &Figures| figures.get(RATE).unwrap_or(f64::NAN);
        let (with, without) = (rate(&tls), rate(&plain));
        Ok(tls.with(RATE_PLAIN, without).with(SHARE, with / without))
    }
}

/// Sends messages of [`HUGE`] bytes to one entity, as fast as they are answered, and counts them.
async fn bombard<R: Remote>(link: Arc<R>, fallen: Arc<AtomicU64>) -> Result<()> {
    let entity = Address::of(1);
    loop {
        link.ask(&entity, Body::carrying(0, HUGE)).await?;
        fallen.fetch_add(1, Ordering::Relaxed);
    }
}

/// Tell the entity 1 as fast as it goes, then make sure that all of it arrived.
/// `sum` is what it held before; returns what it holds afterwards.
async fn flood<R: Remote>(
    link: &Arc<R>,
    mut sum: u64,
    size: usize,
    length: Duration,
) -> Result<u64> {
    let deadline = Instant::now() + length;
    let burst = BURST.min(UNDER_WAY / TOLD / size as u64);
    let entities: Vec<Address> = (0..TOLD).map(Address::of).collect();
    let mut signs = VecDeque::new();
    let mut bursts = entities.iter().cycle();
    while Instant::now() < deadline
        && let Some(entity) = bursts.next()
    {
        if signs.len() == entities.len()
            && let Some(sign) = signs.pop_front()
        {
            sign.await??;
        }
        for _ in 0..burst {
            link.tell(entity, Body::carrying(1, size)).await?;
        }
        sum += burst;
        signs.push_back(tokio::spawn(held(link.clone(), entity.clone())));
        tokio::task::yield_now().await;
    }
    for sign in signs {
        sign.await??;
    }
    let mut all = 0;
    for entity in entities.into_iter().take(R::APART as usize) {
        all += held(link.clone(), entity).await?;
    }
    ensure!(all == sum, "{sum} tells were sent but {all} arrived");
    Ok(sum)
}

async fn held<R: Remote>(link: Arc<R>, entity: Address) -> Result<u64> {
    let answer = link.ask(&entity, Body::carrying(0, SMALL)).await?;
    Ok(answer.number())
}

/// Take a stream of `count` items to its end; returns the items per second.
async fn receive<R: Remote>(link: &R, count: u64, size: usize) -> Result<f64> {
    let started = Instant::now();
    let mut seen = 0;
    let check = |item: Body| {
        ensure!(
            (item.number(), item.len()) == (seen, size),
            "item {seen} came as {} of {} bytes",
            item.number(),
            item.len()
        );
        seen += 1;
        Ok(())
    };
    link.stream(&Address::of(0), count, size, check).await?;
    ensure!(seen == count, "{count} items were asked for, {seen} came");
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// Through a link, by id.
struct ByLink<R> {
    link: Arc<R>,
    entities: Vec<Address>,
    size: usize,
}

impl<R: Remote> ByLink<R> {
    async fn connect(server: &Server, size: usize) -> Result<Self> {
        Ok(Self {
            link: Arc::new(R::connect(&server.address, server.link).await?),
            entities: Address::all().collect(),
            size,
        })
    }
}

impl<R: Remote> Reach for ByLink<R> {
    /// A call takes long enough for the clock not to matter.
    const SAMPLE: u64 = 1;

    fn size(&self) -> usize {
        self.entities.len()
    }

    async fn ask(&self, index: usize, number: u64) -> Result<u64> {
        let asked = Body::carrying(number, self.size);
        let answer = self.link.ask(&self.entities[index], asked).await?;
        ensure!(answer.len() == self.size, "the answer has another size");
        Ok(answer.number())
    }
}

/// The processor time of both processes since it was started.
struct Meter {
    server: u32,
    before: Duration,
}

impl Meter {
    fn start(server: &Server) -> Result<Self> {
        let server = server.pid();
        let before = Self::now(server)?;
        Ok(Self { server, before })
    }

    fn now(server: u32) -> Result<Duration> {
        Ok(machine::cpu_time(std::process::id())? + machine::cpu_time(server)?)
    }

    fn micros_each(&self, count: u64) -> Result<f64> {
        let spent = Self::now(self.server)?.saturating_sub(self.before);
        Ok(spent.as_secs_f64() * 1e6 / count as f64)
    }
}
