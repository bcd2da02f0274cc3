//! What gossip costs: so many peers in one process, over real connections, at their usual timing.
//!
//! `cargo run --release -p ostrakon-peers --example gossip_cost -- 50`

use std::{
    error::Error,
    time::{Duration, Instant},
};

use ostrakon_core::{NodeName, TopologySnapshot, TopologyStatus};
use ostrakon_peers::{Peer, PeerSettings};
use tokio::task::JoinSet;

/// How long nothing happens before it is measured what that costs, and for how long.
const SETTLING: Duration = Duration::from_secs(5);
const MEASURING: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(50), |text| text.parse())?;
    let began = Instant::now();
    let first = Peer::start(settings(0)).await?;
    let seed = first.address().to_string();
    let starting = (1..count).map(|number| Peer::start(settings(number).seeds([seed.clone()])));
    let started = starting.collect::<JoinSet<_>>().join_all().await;
    let mut peers = vec![first];
    for peer in started {
        peers.push(peer?);
    }
    println!("{count} peers started in {:.2?}", began.elapsed());
    all_see(&peers, move |snapshot| up(snapshot) == count).await;
    println!("all see all {count} after {:.2?}", began.elapsed());

    tokio::time::sleep(SETTLING).await;
    measure(&peers).await;

    let Some(lost) = peers.pop() else {
        return Ok(());
    };
    let name = lost.name().clone();
    let began = Instant::now();
    lost.stop().await;
    let is_down = |snapshot: &TopologySnapshot, name: &NodeName| {
        snapshot
            .get(name)
            .is_some_and(|member| member.status == TopologyStatus::Down)
    };
    let gone = name.clone();
    all_see(&peers, move |snapshot| is_down(snapshot, &gone)).await;
    rounds("all see a lost peer down after", began.elapsed());
    let began = Instant::now();
    peers.push(Peer::start(settings(count).seeds([seed])).await?);
    all_see(&peers, move |snapshot| up(snapshot) == count).await;
    rounds("all see a new peer up after", began.elapsed());
    Ok(())
}

fn settings(number: usize) -> PeerSettings {
    PeerSettings::new("cost", format!("node-{number}"), "127.0.0.1:0")
}

fn up(snapshot: &TopologySnapshot) -> usize {
    let members = snapshot.members.iter();
    members
        .filter(|member| member.status == TopologyStatus::Up)
        .count()
}

async fn all_see(
    peers: &[Peer],
    what: impl Fn(&TopologySnapshot) -> bool + Clone + Send + 'static,
) {
    for peer in peers {
        let mut topology = peer.topology();
        // It ends with the peer, which is still there.
        let _ = topology.wait_for(&what).await;
    }
}

async fn measure(peers: &[Peer]) {
    let total = || {
        let each = peers.iter().map(|peer| peer.wires().traffic());
        each.fold((0, 0), |(frames, bytes), said| {
            (frames + said.frames, bytes + said.bytes)
        })
    };
    let before = total();
    tokio::time::sleep(MEASURING).await;
    let after = total();
    let per_peer = |sum: u64| sum as f64 / peers.len() as f64 / MEASURING.as_secs_f64();
    println!(
        "each says {:.1} frames and {:.0} bytes per second, and hears as much",
        per_peer(after.0 - before.0),
        per_peer(after.1 - before.1),
    );
    let wires: usize = peers.iter().map(|peer| peer.wires().count()).sum();
    println!("each has {:.1} wires", wires as f64 / peers.len() as f64);
}

fn rounds(what: &str, took: Duration) {
    println!(
        "{what} {took:.2?} ({:.1} rounds of gossip)",
        took.as_secs_f64()
    );
}
