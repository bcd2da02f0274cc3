//! A shard that moves on and on between nodes whose connections are delayed, stalled and cut at random.
//!
//! `OSTRAKON_CHAOS_SEED=7` plays another seed than the usual ones, `OSTRAKON_CHAOS_MOVES=1000` a longer run.

use ostrakon::{Limits, Outcome, testing::Fixed};
use ostrakon_faults::{Chaos, Proxy};

use super::*;
use crate::cluster::builder;

const USUAL_SEEDS: [u64; 2] = [1, 2];
const USUAL_MOVES: u64 = 60;

/// What the sender of an entry has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Handled,
    NotExecuted,
    Unknown,
}

/// Tells and asks in turns until it is told to stop; what became of each entry.
async fn send(mut sender: Sender, stop: Arc<AtomicBool>) -> (Sender, Vec<Fate>) {
    sender.to = sender.to.clone().within(Duration::from_secs(2));
    let mut fates = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let entry = sender.next;
        sender.next += 1;
        let (log, number) = (sender.log.to_owned(), sender.number);
        fates.push(if entry % 3 < 2 {
            match sender.to.tell().record(log, number, entry).await {
                // Nobody says what becomes of it.
                Ok(()) => Fate::Unknown,
                Err(_) => Fate::NotExecuted,
            }
        } else {
            match sender.to.record(log, number, entry).await {
                Ok(_) => Fate::Handled,
                Err(error) if error.outcome() == Outcome::NotExecuted => Fate::NotExecuted,
                Err(_) => Fate::Unknown,
            }
        });
    }
    (sender, fates)
}

/// All that was told is true, and nothing was handled twice or out of order.
fn check(sender: &Sender, fates: &[Fate]) {
    let entries = recorded(sender.log, sender.number);
    let in_order = entries.is_sorted_by(|one, next| one < next);
    assert!(in_order, "entries of {}: {entries:?}", sender.number);
    let entries: BTreeSet<u64> = entries.into_iter().collect();
    for (entry, fate) in (0..).zip(fates) {
        let (handled, told) = (entries.contains(&entry), sender.number);
        match fate {
            Fate::Handled => assert!(handled, "{entry} of {told} was answered"),
            Fate::NotExecuted => assert!(!handled, "{entry} of {told} was called not executed"),
            Fate::Unknown => {}
        }
    }
    let answered = fates.iter().filter(|fate| **fate == Fate::Handled).count();
    assert!(answered > 20, "{answered} of {} were answered", fates.len());
}

/// Three nodes that reach each other through proxies.
async fn cluster_behind_proxies() -> (Cluster, [Proxy; 3]) {
    let limits = Limits::default()
        .heartbeat(Duration::from_millis(50), Duration::from_millis(400))
        .redial(Duration::from_millis(5), Duration::from_millis(100))
        .handshake(Duration::from_secs(1));
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2", "node-3"] {
        let fixed = Fixed {
            limits,
            ..Fixed::plain()
        };
        nodes.push(builder(name).fixed(fixed).start().await.unwrap());
    }
    let cluster = Cluster::connect(nodes).await;
    let proxies =
        [0, 1, 2].map(|n| Proxy::to(testing::address(&cluster.nodes[n])).expect("a free port"));
    for from in 0..3 {
        for to in (0..3).filter(|to| *to != from) {
            let (name, address) = (cluster.nodes[to].name(), proxies[to].address());
            testing::introduce(&cluster.nodes[from], name.as_str(), &address.to_string());
        }
    }
    (cluster, proxies)
}

/// The old owner learns of each move first, the new one next, and the third now and then.
async fn moves(cluster: &mut Cluster, shard: ShardId, count: u64) {
    let mut from = 1;
    for n in 0..count {
        let to = (from + 1 + n as usize / 7 % 2) % 3;
        let third = 3 - from - to;
        cluster.moved(shard, to);
        testing::adopt(&cluster.nodes[from], &cluster.map).await;
        tokio::time::sleep(Duration::from_millis(n % 5)).await;
        testing::adopt(&cluster.nodes[to], &cluster.map).await;
        if n % 2 == 1 {
            testing::adopt(&cluster.nodes[third], &cluster.map).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        from = to;
    }
}

fn from_environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().expect("a whole number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_over_breaking_connections_double_and_reorder_nothing_and_every_outcome_is_true() {
    let seed = from_environment("OSTRAKON_CHAOS_SEED");
    for seed in seed.map_or_else(|| USUAL_SEEDS.to_vec(), |seed| vec![seed]) {
        let log: &'static str = format!("breaking {seed}").leak();
        let (mut cluster, proxies) = cluster_behind_proxies().await;
        let id = cluster.id_on(1);
        let shard = cluster.shard(&id);
        for (proxy, salt) in proxies.iter().zip(0..) {
            proxy.unleash(Chaos::cutting(seed * 3 + salt));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let senders: Vec<_> = (0..9)
            .map(|n| {
                let node = &cluster.nodes[n as usize % 3];
                let sender = Sender::new(log, n, node, &id);
                tokio::spawn(send(sender, Arc::clone(&stop)))
            })
            .collect();
        let count = from_environment("OSTRAKON_CHAOS_MOVES").unwrap_or(USUAL_MOVES);
        moves(&mut cluster, shard, count).await;
        stop.store(true, Ordering::Relaxed);
        proxies.iter().for_each(Proxy::calm);
        cluster.inform_all().await;
        for sender in senders {
            let (sender, fates) = timeout(SOON, sender).await.unwrap().unwrap();
            // Behind all that it has sent, unless that was lost with the last connection that broke.
            let last = async { while sender.to.node().await.is_err() {} };
            timeout(SOON, last).await.expect("it is calm");
            check(&sender, &fates);
        }
        let cuts: u64 = proxies.iter().map(|proxy| proxy.mischief().cuts).sum();
        assert!(cuts > 0, "nothing was cut");
        cluster.leave().await;
    }
}
