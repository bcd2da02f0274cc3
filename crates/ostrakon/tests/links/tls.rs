//! Nodes that prove to each other who they are, and those who cannot.

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
    Files, Identity, Role, Tls, UtcTime,
    make::{Authority, Validity},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
};

use crate::{
    cluster::{Cluster, SOON, builder},
    connections::is_unsent,
    handshakes::{
        log::Log,
        stranger::{Declined, Hello, Judgement, Letter, Ready, Said, Stranger, kind},
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
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
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
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
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
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    testing::introduce(&cluster.nodes[0], "node-2", &address);
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
async fn another_authority_is_not_trusted() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::new());
    let nodes = vec![
        start("node-1", ours.node("node-1")).await,
        start("node-2", theirs.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    asks_in_vain(&cluster).await;
    let flaw = "no authority in our ca file signed it";
    log.says(&["cannot connect", "peer=node-2", flaw]).await;
    // The dialer was the first to see it; the acceptor knows that it was refused.
    log.says(&["a connection is refused", "the peer refused us"])
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn an_acceptor_does_not_trust_another_authority_either() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::new());
    // The dialer trusts both, so that it is the acceptor that judges.
    ours.trust(&[&ours.authority, &theirs.authority]);
    let nodes = vec![
        start("node-1", ours.node("node-1")).await,
        start("node-2", theirs.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    asks_in_vain(&cluster).await;
    let flaw = "no authority in our ca file signed it";
    log.says(&["a connection is refused", flaw]).await;
    log.says(&["cannot connect", "peer=node-2", "refused us"])
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_certificate_that_expires_while_its_node_runs_is_refused() {
    let log = Log::listen();
    let office = Office::new();
    let until = UtcTime::now().plus(Duration::from_secs(2));
    let validity = Validity {
        from: UtcTime::now().minus(Duration::from_secs(60)),
        until,
    };
    let short = office.issue_for(Role::Node, "node-1", validity);
    let nodes = vec![
        start("node-1", Security::tls(short).unwrap()).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    while UtcTime::now() <= until {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    asks_in_vain(&cluster).await;
    log.says(&["a connection is refused", "it expired at"])
        .await;
    log.says(&["cannot connect", "peer=node-2", "refused us"])
        .await;
    cluster.leave().await;
}

/// Speaks by hand, with a certificate.
async fn shows(files: Files, address: SocketAddr, hello: &Hello) -> Judgement {
    let tls = Tls::load(files).unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let (stream, _) = tls.connect(stream).await.unwrap();
    Stranger::on(stream).introduce(hello).await
}

#[tokio::test]
async fn only_a_certificate_of_that_name_and_a_fitting_role_lets_somebody_in() {
    let log = Log::listen();
    let office = Office::new();
    let node = start("node-1", office.node("node-1")).await;
    let address = testing::address(&node);
    let hello = Hello::to("node-1");
    for (role, name, reason) in [
        (Role::Manager, "stranger", "has the role `manager`"),
        (Role::Admin, "stranger", "has the role `admin`"),
        (
            Role::Node,
            "node-3",
            "certificate is for `node-3`, but it says to be `stranger`",
        ),
        (
            Role::Client,
            "shop",
            "certificate is for `shop`, but it says to be `stranger`",
        ),
    ] {
        let files = office.issue(role, name);
        let refusal = shows(files, address, &hello).await.refusal();
        assert!(refusal.contains(reason), "{refusal}");
        log.says(&["a connection is refused", reason]).await;
    }
    for role in [Role::Node, Role::Client] {
        let own = office.issue(role, "stranger");
        assert_eq!(shows(own, address, &hello).await.welcome().node, "node-1");
    }
    node.leave().await.unwrap();
}

#[tokio::test]
async fn a_client_is_answered_and_never_taken_for_a_node_even_if_it_has_the_name_of_one() {
    let office = Office::new();
    let client = Tls::load(office.issue(Role::Client, "node-2")).unwrap();
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    // It also claims to be later than any start of a node.
    let hello = Hello {
        node: "node-2".to_owned(),
        incarnation: u64::MAX,
        ..Hello::to("node-1")
    };
    let address = testing::address(&cluster.nodes[0]);
    let stream = TcpStream::connect(address).await.unwrap();
    let (stream, _) = client.connect(stream).await.unwrap();
    let mut client = Stranger::on(stream);
    let welcome = client.introduce(&hello).await.welcome();
    client.ready(welcome.challenge).await;
    let id = cluster.id_on(0);
    let add = Said::Add {
        entry: 7,
        reply: Some(0),
    };
    let ask = Letter::ask(5, cluster.shard(&id), &id, &add);
    client.say(&ask.frame()).await;
    assert_eq!(client.frame_of(kind::ANSWER).await.request(), 5);

    // What is for the node of that name goes there, and the node itself is let in.
    for (from, to) in [(0, 1), (1, 0)] {
        let ledger = cluster.nodes[from].entity::<Ledger>(cluster.id_on(to));
        assert!(ledger.add(8).await.unwrap() > 0);
    }
    let there = cluster.nodes[1].entity::<Ledger>(cluster.id_on(1));
    assert_eq!(there.entries().await.unwrap(), [8]);
    client.is_heard().await;
    cluster.leave().await;
}

#[tokio::test]
async fn nobody_is_let_in_by_the_certificate_of_a_client() {
    let log = Log::listen();
    let office = Office::new();
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    let tls = Tls::load(office.issue(Role::Client, "shop")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    testing::introduce(&cluster.nodes[0], "node-2", &address);
    let impostor = async {
        let (stream, _) = listener.accept().await.unwrap();
        assert!(tls.accept(stream).await.is_err());
        drop(listener);
    };
    tokio::join!(asks_in_vain(&cluster), impostor);
    log.says(&["cannot connect", "peer=node-2"]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_certificate_of_another_cluster_is_refused_even_from_a_trusted_authority() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::of("staging"));
    for office in [&ours, &theirs] {
        office.trust(&[&ours.authority, &theirs.authority]);
    }
    let other = Fixed {
        cluster: "staging".to_owned(),
        ..secured(theirs.node("node-2"))
    };
    let nodes = vec![
        start("node-1", ours.node("node-1")).await,
        builder("node-2").fixed(other).start().await.unwrap(),
    ];
    let cluster = Cluster::connect(nodes).await;
    asks_in_vain(&cluster).await;
    let reason = "ostrakon://staging/node/node-2, of another cluster than ours (test)";
    log.says(&["cannot connect", reason]).await;
    let reason = "ostrakon://test/node/node-1, of another cluster than ours (staging)";
    log.says(&["a connection is refused", reason]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn whoever_answers_with_the_certificate_of_another_node_hears_nothing() {
    let log = Log::listen();
    let office = Office::new();
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    let tls = Tls::load(office.issue(Role::Node, "node-3")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    testing::introduce(&cluster.nodes[0], "node-2", &address);
    let impostor = async {
        let (stream, _) = listener.accept().await.unwrap();
        let (stream, _) = tls.accept(stream).await.unwrap();
        let mut impostor = Stranger::on(stream);
        // It says to be whoever is wanted.
        impostor.let_in(1).await;
        let declined: Declined = impostor.hear_text().await.unwrap();
        assert!(declined.refused.contains("node-3"), "{declined:?}");
        assert!(impostor.hear_text::<Ready>().await.is_none());
        drop(listener);
    };
    tokio::join!(asks_in_vain(&cluster), impostor);
    let reason = "its certificate is for `node-3`, but it says to be `node-2`";
    log.says(&["cannot connect", reason]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_node_does_not_start_with_the_certificate_of_somebody_else() {
    let office = Office::new();
    for (role, name) in [
        (Role::Node, "node-2"),
        (Role::Client, "node-1"),
        (Role::Admin, "node-1"),
    ] {
        let security = Security::tls(office.issue(role, name)).unwrap();
        let error = builder("node-1").fixed(secured(security)).start().await;
        let Err(StartError::Unfit(Unfit::OtherCertificate { certificate, .. })) = error else {
            panic!("{error:?}");
        };
        assert_eq!(certificate, format!("ostrakon://test/{role}/{name}"));
    }
    let other = Office::of("staging");
    let error = builder("node-1")
        .fixed(secured(other.node("node-1")))
        .start()
        .await;
    assert!(matches!(
        error,
        Err(StartError::Unfit(Unfit::OtherCertificate { .. }))
    ));
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

/// Lets the nodes look at their certificates now.
async fn look_at_files() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn renewed_certificates_are_used_by_new_connections_while_old_ones_live_on() {
    let log = Log::listen();
    let mut office = Office::new();
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    let proxy = Proxy::to(testing::address(&cluster.nodes[1])).unwrap();
    testing::introduce(&cluster.nodes[0], "node-2", &proxy.address().to_string());
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    ledger.add(1).await.unwrap();
    tokio::time::timeout(SOON, proxy.connected(2))
        .await
        .unwrap();

    // A new authority, which both trust beside the old one, issues everything again.
    let old = std::mem::replace(&mut office.authority, authority("test"));
    office.trust(&[&old, &office.authority]);
    for node in ["node-1", "node-2"] {
        office.issue(Role::Node, node);
    }
    look_at_files().await;
    for node in ["node-1", "node-2"] {
        let identity = format!("identity=ostrakon://test/node/{node}");
        log.says(&["a new certificate is in use", &identity]).await;
    }
    assert_eq!(ledger.add(2).await.unwrap(), 2);
    assert_eq!(proxy.connections(), 2, "the old connection lives on");

    // Whoever trusts only the new authority is served with the new certificate.
    let newcomer = office.issue(Role::Node, "stranger");
    let hello = Hello::to("node-2");
    office.trust(&[&office.authority]);
    let address = testing::address(&cluster.nodes[1]);
    let judged = shows(newcomer, address, &hello).await;
    assert_eq!(judged.welcome().node, "node-2");
    proxy.cut();
    let asked = async {
        loop {
            if let Ok(count) = ledger.add(3).await {
                return count;
            }
        }
    };
    let count = tokio::time::timeout(SOON, asked).await.unwrap();
    assert!((3..5).contains(&count), "{count}");
    cluster.leave().await;
}

#[tokio::test]
async fn bad_new_files_are_logged_and_the_old_ones_stay() {
    let log = Log::listen();
    let office = Office::new();
    let nodes = vec![
        start("node-1", office.node("node-1")).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    fs::write(office.dir.join("node-2.pem"), "not a certificate").unwrap();
    look_at_files().await;
    log.says(&["ERROR", "node-2.pem", "the former certificate stays in use"])
        .await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    assert_eq!(ledger.add(1).await.unwrap(), 1);
    cluster.leave().await;
}
