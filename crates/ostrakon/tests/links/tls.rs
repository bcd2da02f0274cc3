//! Nodes that prove to each other who they are, and those who cannot.

#[path = "tls/renewing.rs"]
mod renewing;
#[path = "tls/strangers.rs"]
mod strangers;

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use ostrakon::{
    AskError, Limits, Node, Security, StartError, Unfit,
    testing::{self, Fixed},
};
use ostrakon_faults::Proxy;
use ostrakon_tls::{
    Files, Identity, Role, Tls,
    make::{Authority, Validity},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
};

use crate::{
    cluster::{Cluster, SOON, builder},
    connections::is_unsent,
    handshakes::{
        log::Log,
        stranger::{Hello, Judgement, Stranger},
    },
    ledger::Ledger,
};

/// A directory of certificates and the authority that signs them.
struct Office {
    dir: PathBuf,
    authority: Authority,
}

impl Office {
    fn new() -> Self {
        Self::of("test")
    }

    fn of(cluster: &str) -> Self {
        static OFFICES: AtomicU32 = AtomicU32::new(0);
        let number = OFFICES.fetch_add(1, Ordering::Relaxed);
        let name = format!("ostrakon-links-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        let authority = authority(cluster);
        let office = Self { dir, authority };
        office.trust(&[&office.authority]);
        office
    }

    /// Replaces the file of the authorities.
    fn trust(&self, authorities: &[&Authority]) {
        let all: String = authorities.iter().map(|a| a.cert_pem()).collect();
        fs::write(self.dir.join("ca.pem"), all).unwrap();
    }

    fn issue(&self, role: Role, name: &str) -> Files {
        self.issue_for(role, name, Validity::for_the_next(Validity::OF_LEAF))
    }

    fn issue_for(&self, role: Role, name: &str, validity: Validity) -> Files {
        let identity = Identity::new(self.authority.cluster(), role, name).unwrap();
        let issued = self.authority.issue(&identity, validity).unwrap();
        let files = Files::in_dir(&self.dir, name);
        fs::write(&files.certificate, issued.cert_pem).unwrap();
        fs::write(&files.key, issued.key_pem).unwrap();
        files
    }

    fn node(&self, name: &str) -> Security {
        Security::tls(self.issue(Role::Node, name)).unwrap()
    }

    /// `node-1` and `node-2`, with certificates of this office.
    async fn two_nodes(&self) -> Cluster {
        let nodes = vec![
            start("node-1", self.node("node-1")).await,
            start("node-2", self.node("node-2")).await,
        ];
        Cluster::connect(nodes).await
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn authority(cluster: &str) -> Authority {
    Authority::new(cluster, Validity::for_the_next(Validity::OF_AUTHORITY)).unwrap()
}

fn secured(security: Security) -> Fixed {
    Fixed {
        security,
        // Some tests let the clock jump.
        limits: Limits::default()
            .heartbeat(Duration::from_millis(500), 10 * SOON)
            .handshake(10 * SOON),
        ..Fixed::plain()
    }
}

async fn start(name: &str, security: Security) -> Node {
    let node = builder(name).fixed(secured(security));
    node.start().await.unwrap()
}

/// Asks in vain from the first node to the second.
async fn asks_in_vain(cluster: &Cluster) {
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let error = ledger.within(Duration::from_millis(300)).add(1).await;
    let error = error.unwrap_err();
    assert!(is_unsent(&error), "{error:?}");
    let there = cluster.nodes[1].entity::<Ledger>(cluster.id_on(1));
    assert_eq!(there.entries().await.unwrap(), [] as [u64; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_talk_over_tls() {
    let office = Office::new();
    let cluster = office.two_nodes().await;
    for (from, to) in [(0, 1), (1, 0)] {
        let ledger = cluster.nodes[from].entity::<Ledger>(cluster.id_on(to));
        for n in 0..100 {
            ledger.tell().add(n).await.unwrap();
        }
        let entries = ledger.entries().await.unwrap();
        assert_eq!(entries, (0..100).collect::<Vec<_>>());
        let why = "x".repeat(1_000_000);
        let refused = ledger.refuse(why.clone()).await.unwrap_err();
        assert!(matches!(refused, AskError::Rejected(refused) if refused.0 == why));
        let mut items = ledger.sized(vec![3000; 200]).await.unwrap();
        for _ in 0..200 {
            assert_eq!(items.next().await.unwrap().unwrap().len(), 3000);
        }
        assert!(items.next().await.is_none());
    }
    cluster.leave().await;
}

/// Sends asks one by one while nothing gets through, at most so many, until no more can be written; then lets them through.
/// Returns how many there were; all of them are answered.
async fn fill(office: &Office, most: usize) -> usize {
    let recorder = DebuggingRecorder::new();
    let metrics = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let cluster = office.two_nodes().await;
    let proxy = Proxy::to(testing::address(&cluster.nodes[1])).unwrap();
    testing::introduce(&cluster.nodes[0], "node-2", &proxy.address().to_string());
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    ledger.add(1).await.unwrap();
    proxy.stall();
    let mut asks = JoinSet::new();
    while asks.len() < most {
        writes(&metrics);
        let ledger = ledger.clone();
        asks.spawn(async move { ledger.refuse("x".repeat(16_000)).await });
        // The asker, and whoever writes; more than once, for the proxy has something to do, too.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        if writes(&metrics) == 0 {
            break;
        }
    }
    let sent = asks.len();
    proxy.pass();
    let answers = tokio::time::timeout(SOON / 2, asks.join_all()).await;
    for answer in answers.expect("all are answered") {
        assert!(matches!(answer, Err(AskError::Rejected(_))));
    }
    cluster.leave().await;
    sent
}

/// How often a node has written since the last look.
fn writes(metrics: &Snapshotter) -> u64 {
    let mut all = 0;
    for (key, _, _, value) in metrics.snapshot().into_vec() {
        if let ("ostrakon_link_writes_total", DebugValue::Counter(count)) =
            (key.key().name(), value)
        {
            all += count;
        }
    }
    all
}

#[tokio::test]
async fn what_waits_within_tls_leaves_as_soon_as_there_is_room() {
    let office = Office::new();
    // Some of the last asks before all room is taken lie encrypted in memory, and nothing follows that would push them.
    let full = fill(&office, 2000).await;
    assert!(full < 2000, "the system never had enough");
    for fewer in 1..=5 {
        fill(&office, full - fewer).await;
    }
}

#[tokio::test]
async fn nobody_reads_what_travels() {
    let office = Office::new();
    let cluster = office.two_nodes().await;
    let listener = cluster.instead_of("node-2").await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let target = testing::address(&cluster.nodes[1]);
    let seen = Arc::new(Mutex::default());
    let tapping = tokio::spawn({
        let seen = Arc::clone(&seen);
        async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(tap(client, target, Arc::clone(&seen)));
            }
        }
    });
    let refused = ledger.refuse("a secret of ours".to_owned()).await;
    assert!(matches!(refused, Err(AskError::Rejected(_))));
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let has = |needle: &[u8]| seen.windows(needle.len()).any(|bytes| bytes == needle);
    assert!(seen.len() > 1000);
    assert!(!has(b"secret") && !has(b"ledger") && !has(b"OSTRAKON"));
    cluster.leave().await;
    tapping.abort();
}

/// Carries bytes both ways and keeps a copy.
async fn tap(client: TcpStream, target: SocketAddr, seen: Arc<Mutex<Vec<u8>>>) {
    let server = TcpStream::connect(target).await.unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let carry = async |mut from: OwnedReadHalf, mut to: OwnedWriteHalf| {
        let mut buffer = [0; 4096];
        while let Ok(bytes @ 1..) = from.read(&mut buffer).await {
            seen.lock().unwrap().extend_from_slice(&buffer[..bytes]);
            if to.write_all(&buffer[..bytes]).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(carry(from_client, to_server), carry(from_server, to_client));
}

#[tokio::test]
async fn plain_text_is_for_loopback_only_and_says_so() {
    let log = Log::listen();
    let open = Fixed {
        listen: "0.0.0.0:0".to_owned(),
        ..Fixed::plain()
    };
    let error = builder("node-1").fixed(open).start().await.unwrap_err();
    let StartError::Unfit(Unfit::Unprotected { address }) = &error else {
        panic!("{error}");
    };
    assert!(address.ip().is_unspecified(), "{address}");
    assert!(error.to_string().contains("need TLS"), "{error}");
    assert_eq!(log.text(), "");
    let cluster = Cluster::of(2).await;
    log.says(&["WARN", "connections are plain text"]).await;
    // Nor does it dial anybody out there.
    testing::introduce(&cluster.nodes[0], "node-2", "192.0.2.1:4000");
    asks_in_vain(&cluster).await;
    log.says(&["cannot connect", "192.0.2.1:4000 is not a loopback address"])
        .await;
    cluster.leave().await;

    let office = Office::new();
    let log = Log::listen();
    let open = Fixed {
        listen: "0.0.0.0:0".to_owned(),
        ..secured(office.node("node-1"))
    };
    let node = builder("node-1").fixed(open).start().await.unwrap();
    node.leave().await.unwrap();
    assert!(log.line(&["plain text"]).is_none());
}

#[tokio::test]
async fn plain_text_and_tls_do_not_understand_each_other() {
    let office = Office::new();
    for plain_dials in [true, false] {
        let log = Log::listen();
        let (plain, secured) = if plain_dials {
            ("node-1", "node-2")
        } else {
            ("node-2", "node-1")
        };
        let mut nodes = vec![
            start(plain, Security::plaintext()).await,
            start(secured, office.node(secured)).await,
        ];
        nodes.sort_by_key(|node| node.name().clone());
        let cluster = Cluster::connect(nodes).await;
        asks_in_vain(&cluster).await;
        log.says(&["cannot connect", "peer=node-2"]).await;
        let reason = if plain_dials {
            "the tls handshake failed"
        } else {
            "it does not begin as one"
        };
        log.says(&["a connection is refused", reason]).await;
        // And it is not the worse for it.
        let other = cluster.nodes[0].entity::<Ledger>(cluster.id_on(0));
        other.add(1).await.unwrap();
        cluster.leave().await;
    }
}

/// Speaks by hand, with a certificate.
async fn shows(files: Files, address: SocketAddr, hello: &Hello) -> Judgement {
    let tls = Tls::load(files).unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let (stream, _) = tls.connect(stream).await.unwrap();
    Stranger::on(stream).introduce(hello).await
}
