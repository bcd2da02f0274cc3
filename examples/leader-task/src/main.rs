//! Work that has to be done every tenth of a second by one of four nodes, never by two: a singleton.
//!
//! Each node is a process. The one that does the work is asked to leave, and the next one is killed; the work goes on elsewhere:
//! `cargo run -p leader-task`. Here the kernel says that the killed one is dead; on another host its lease would have to run out first.

use std::{
    collections::HashMap,
    process::Stdio,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, ensure};
use ostrakon::{Context, Hosting, Node, Reply, entity};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::{mpsc, watch},
};

const PORTS: [&str; 4] = ["25570", "25571", "25572", "25573"];
const PERIOD: Duration = Duration::from_millis(100);

/// The work, and when it began to be needed.
struct Billing {
    began: Duration,
    last: u128,
}

#[entity(kind = "billing")]
impl Billing {
    /// Nobody sends a singleton anything before it starts. The timer ends with this life of it.
    #[start]
    async fn begin(&mut self, ctx: &Context<Self>) {
        let reply = Reply::ignored;
        ctx.schedule_every(PERIOD, move || BillingMessage::Bill { reply: reply() });
    }

    /// Ticks are numbered by time, so the same one could be done twice: by two nodes that both believe that it is theirs.
    async fn bill(&mut self) {
        let tick = (now() - self.began).as_millis() / PERIOD.as_millis();
        if tick > self.last {
            self.last = tick;
            println!("{tick}");
        }
    }
}

async fn node(port: &str, began: Duration) -> anyhow::Result<()> {
    let address = |port| format!("127.0.0.1:{port}");
    let node = Node::builder(format!("node-{port}"))
        .peers(address(port), PORTS.map(address))
        .host_with(Hosting::default(), move |_| Billing { began, last: 0 })
        .singleton::<Billing>("monthly") // all nodes say so, and one of them runs it
        .start()
        .await?;
    // Until whoever started this process closes its input, or ends.
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    Ok(node.leave().await?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let [_, port, began] = &std::env::args().collect::<Vec<_>>()[..] {
        return node(port, Duration::from_millis(began.parse()?)).await;
    }
    let (done, ticks) = mpsc::channel(64);
    let (says, mut duty) = watch::channel(Duty::default());
    let recording = tokio::spawn(record(ticks, says));
    let began = now().as_millis().to_string();
    let mut nodes = HashMap::new();
    for port in PORTS {
        nodes.insert(port, start(port, &began, &done)?);
    }

    let first = duty.wait_for(|duty| duty.ticks >= 10).await?.port;
    println!("node-{first} is asked to leave");
    let mut process = nodes.remove(first).context("it was started")?;
    drop(process.stdin.take());
    ensure!(process.wait().await?.success(), "it leaves in good order");

    let by_another = |duty: &Duty| duty.port != first && duty.ticks >= 10;
    let second = duty.wait_for(by_another).await?.port;
    println!("node-{second} is killed");
    let mut process = nodes.remove(second).context("it was started")?;
    process.kill().await?;

    let by_a_third = |duty: &Duty| duty.port != second && duty.ticks >= 10;
    duty.wait_for(by_a_third).await?;
    drop(duty);
    recording.await?
}

/// Who does the work, and how many ticks it has done.
#[derive(Default)]
struct Duty {
    port: &'static str,
    ticks: u32,
}

/// Shows who does which tick until nobody wants to know, and ends the example if one is done twice.
async fn record(
    mut ticks: mpsc::Receiver<(&'static str, u128)>,
    duty: watch::Sender<Duty>,
) -> anyhow::Result<()> {
    let mut last = 0;
    while !duty.is_closed() {
        let (port, tick) = ticks.recv().await.context("somebody does the work")?;
        println!("tick {tick}: node-{port}");
        ensure!(tick > last, "tick {tick} was done already");
        last = tick;
        duty.send_modify(|duty| match duty.port == port {
            true => duty.ticks += 1,
            false => *duty = Duty { port, ticks: 1 },
        });
    }
    println!("no tick was done twice");
    Ok(())
}

/// Starts a node as a process of its own, and passes on what it does. It does not outlive this one.
fn start(
    port: &'static str,
    began: &str,
    done: &mpsc::Sender<(&'static str, u128)>,
) -> anyhow::Result<Child> {
    let mut process = Command::new(std::env::current_exe()?)
        .args([port, began])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let said = process.stdout.take().context("it is piped")?;
    let (mut lines, done) = (BufReader::new(said).lines(), done.clone());
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(tick) = line.parse() else { return };
            if done.send((port, tick)).await.is_err() {
                return;
            }
        }
    });
    Ok(process)
}

fn now() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("it is after 1970")
}
