//! Two nodes whose connections go through a proxy that delays, splits, stalls, cuts and corrupts at random, while thousands of asks,
//! tells and streams cross in both directions. Afterwards every one of them is accounted for: what its sender was told is compared
//! with what its entity did.
//!
//! Bits are flipped under TLS only: plain text has no checksum, so a changed number would be believed.
//!
//! `OSTRAKON_CHAOS_SEED=7` plays another seed than the usual ones, `OSTRAKON_CHAOS_ASKS=1000000` a longer run; `--nocapture` shows the
//! tally.

#[path = "chaos/account.rs"]
mod account;
#[path = "chaos/caller.rs"]
mod caller;
#[path = "chaos/latecomer.rs"]
mod latecomer;
#[path = "chaos/witness.rs"]
mod witness;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use ostrakon::{
    Hosting, Limits, Node, Security,
    testing::{self, Fixed},
};
use ostrakon_faults::{Chaos, Mischief, Proxy};
use ostrakon_tls::{
    Files, Identity, Role,
    make::{Authority, Validity},
};

use self::{
    account::{Account, Tally},
    caller::Caller,
    witness::{Log, Sign, Witness, WitnessMessage},
};
use crate::cluster::{Cluster, SOON, builder};

const USUAL_SEEDS: [u64; 2] = [1, 2];
const USUAL_ASKS: u64 = 10_000;
const CALLERS_PER_NODE: u32 = 32;
/// Of one caller per node, which has to wait for each answer.
const LONELY_ASKS: u64 = 1_000;
const ENTITIES_PER_NODE: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_outcome_is_true_on_a_slow_and_uneven_network() {
    for seed in seeds() {
        let (tally, done) = Arena::open(seed, Chaos::mild, Security::plaintext)
            .await
            .play()
            .await;
        assert!(done.delays > 0 && done.splits > 0 && done.stalls > 0);
        assert!(tally.share_of_replies() > 0.8, "{tally:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_outcome_is_true_when_connections_break() {
    for seed in seeds() {
        let (tally, done) = Arena::open(seed, Chaos::cutting, Security::plaintext)
            .await
            .play()
            .await;
        assert!(done.cuts > 0 && done.truncations > 0 && done.stalls > 0);
        assert!(tally.share_of_replies() > 0.25, "{tally:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_outcome_is_true_when_bits_flip_under_tls() {
    for seed in seeds() {
        let certificates = Certificates::make(seed);
        let (tally, done) = Arena::open_with(seed, Chaos::corrupting, |name| {
            Security::tls(Files::in_dir(&certificates.0, name)).unwrap()
        })
        .await
        .play()
        .await;
        assert!(done.corruptions > 0 && done.cuts > 0 && done.truncations > 0);
        assert!(tally.share_of_replies() > 0.25, "{tally:?}");
    }
}

/// Whoever is alone writes to the connection itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_outcome_is_true_for_a_lonely_caller() {
    for seed in seeds() {
        let mut arena = Arena::open(seed, Chaos::cutting, Security::plaintext).await;
        (arena.callers_per_node, arena.asks) = (1, LONELY_ASKS);
        let (tally, done) = arena.play().await;
        assert!(done.cuts > 0);
        assert!(tally.share_of_replies() > 0.25, "{tally:?}");
    }
}

fn seeds() -> Vec<u64> {
    from_environment("OSTRAKON_CHAOS_SEED").map_or_else(|| USUAL_SEEDS.to_vec(), |seed| vec![seed])
}

fn from_environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().expect("a whole number"))
}

/// Two nodes, and a proxy in front of each.
struct Arena {
    seed: u64,
    chaos: fn(u64) -> Chaos,
    cluster: Cluster,
    proxies: [Proxy; 2],
    log: Log,
    callers_per_node: u32,
    asks: u64,
}

impl Arena {
    async fn open(seed: u64, chaos: fn(u64) -> Chaos, security: fn() -> Security) -> Self {
        Self::open_with(seed, chaos, |_| security()).await
    }

    async fn open_with(
        seed: u64,
        chaos: fn(u64) -> Chaos,
        security: impl Fn(&str) -> Security,
    ) -> Self {
        let log = Log::default();
        let (left, right) = (
            start("node-1", security("node-1"), &log).await,
            start("node-2", security("node-2"), &log).await,
        );
        let proxies =
            [&left, &right].map(|node| Proxy::to(testing::address(node)).expect("a free port"));
        let cluster = Cluster::connect(vec![left, right]).await;
        // In place of the address under which `connect` has introduced them.
        for (from, to) in [(0, 1), (1, 0)] {
            let (name, address) = (cluster.nodes[to].name(), proxies[to].address());
            testing::introduce(&cluster.nodes[from], name.as_str(), &address.to_string());
        }
        Self {
            seed,
            chaos,
            cluster,
            proxies,
            log,
            callers_per_node: CALLERS_PER_NODE,
            asks: USUAL_ASKS,
        }
    }

    /// Runs the whole workload and checks what came of it.
    async fn play(self) -> (Tally, Mischief) {
        let began = Instant::now();
        for (proxy, salt) in self.proxies.iter().zip([0, 1]) {
            proxy.unleash((self.chaos)(self.seed * 2 + salt));
        }
        let calls: Vec<_> = self.callers().map(|c| tokio::spawn(c.call())).collect();
        let accounts: Vec<Account> = join_all(calls)
            .await
            .into_iter()
            .flat_map(Result::unwrap)
            .collect();
        self.proxies.iter().for_each(Proxy::calm);
        self.until_all_is_handled().await;
        let mischief = self.mischief();
        let tally = Tally::of(&accounts);
        println!(
            "seed {} in {:?}:\n  {mischief:?}",
            self.seed,
            began.elapsed()
        );
        println!("  {tally:?}");
        account::check(&accounts, &self.log.read());
        self.cluster.leave().await;
        (tally, mischief)
    }

    /// Half of them on each node, all for entities on the other one.
    fn callers(&self) -> impl Iterator<Item = Caller> + '_ {
        let asks = from_environment("OSTRAKON_CHAOS_ASKS").unwrap_or(self.asks);
        let callers = 2 * self.callers_per_node;
        (0..callers).map(move |number| {
            let (from, to) = match number % 2 {
                0 => (0, 1),
                _ => (1, 0),
            };
            Caller {
                number,
                node: self.cluster.nodes[from].clone(),
                entities: self.entities_on(to),
                asks: asks.div_ceil(u64::from(callers)),
                dice: fastrand::Rng::with_seed(self.seed << 32 | u64::from(number)),
                last: 0,
            }
        })
    }

    fn entities_on(&self, node: usize) -> Vec<String> {
        self.cluster.ids_on(node).take(ENTITIES_PER_NODE).collect()
    }

    /// An ask that is answered is behind all that was sent to its entity before. The first may yet be lost with a connection that
    /// the chaos has broken.
    async fn until_all_is_handled(&self) {
        for (from, to) in [(0, 1), (1, 0)] {
            for id in self.entities_on(to) {
                let entity = self.cluster.nodes[from].entity::<Witness>(&id);
                let asked = async {
                    let last = |reply| WitnessMessage::Look {
                        sign: Sign::LAST,
                        load: Vec::new(),
                        reply,
                    };
                    while entity.ask(last).await.is_err() {}
                };
                tokio::time::timeout(SOON, asked)
                    .await
                    .expect("connected again once it is calm");
            }
        }
    }

    fn mischief(&self) -> Mischief {
        let [left, right] = self.proxies.each_ref().map(Proxy::mischief);
        Mischief {
            delays: left.delays + right.delays,
            splits: left.splits + right.splits,
            stalls: left.stalls + right.stalls,
            cuts: left.cuts + right.cuts,
            corruptions: left.corruptions + right.corruptions,
            truncations: left.truncations + right.truncations,
        }
    }
}

async fn start(name: &str, security: Security, log: &Log) -> Node {
    let limits = Limits::default()
        .heartbeat(Duration::from_millis(50), Duration::from_millis(400))
        .redial(Duration::from_millis(5), Duration::from_millis(100))
        .handshake(Duration::from_secs(1));
    let hosting =
        Hosting::default().restart_backoff(Duration::from_millis(1), Duration::from_millis(10));
    let log = log.clone();
    builder(name)
        .host_with(hosting, move |_| Witness::new(&log))
        .fixed(Fixed {
            security,
            limits,
            ..Fixed::plain()
        })
        .start()
        .await
        .unwrap()
}

/// The certificates of both nodes, in a directory that goes with this.
struct Certificates(PathBuf);

impl Certificates {
    fn make(seed: u64) -> Self {
        let name = format!("chaos-{}-{seed}", std::process::id());
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let day = Validity::for_the_next(Duration::from_secs(24 * 60 * 60));
        let authority = Authority::new("test", day).unwrap();
        std::fs::write(dir.join("ca.pem"), authority.cert_pem()).unwrap();
        for node in ["node-1", "node-2"] {
            let identity = Identity::new("test", Role::Node, node).unwrap();
            let issued = authority.issue(&identity, day).unwrap();
            let files = Files::in_dir(&dir, node);
            std::fs::write(files.certificate, issued.cert_pem).unwrap();
            std::fs::write(files.key, issued.key_pem).unwrap();
        }
        Self(dir)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What is left behind lies among other build products.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
