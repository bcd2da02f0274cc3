//! Peers that say what no peer should. The connection ends with a reason, or lives on; the node and its other peers do not notice.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon::{
    GroupName, Limits, StreamError,
    testing::{self, Fixed},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::{
    cluster::{Cluster, SOON, builder, owned},
    handshakes::{
        log::Log,
        stranger::{
            ANSWER_PORT, Hello, Letter, NAME, OPENING, STREAM_PORT, Said, Stranger, frame, kind,
            put_number, put_section,
        },
    },
    ledger::{Ledger, LedgerRef},
};

/// Two nodes that talk to each other, while strangers try their luck with the first.
struct Victim {
    cluster: Cluster,
    address: SocketAddr,
    panics: usize,
}

impl Victim {
    async fn new() -> Self {
        Self::within(Limits::default()).await
    }

    async fn within(limits: Limits) -> Self {
        let fixed = Fixed {
            limits,
            ..Fixed::plain()
        };
        let nodes = vec![
            builder("node-1").fixed(fixed).start().await.unwrap(),
            builder("node-2")
                .fixed(Fixed::plain())
                .start()
                .await
                .unwrap(),
        ];
        let address = testing::address(&nodes[0]);
        let victim = Self {
            cluster: Cluster::connect(nodes).await,
            address,
            panics: panics(),
        };
        victim.is_well().await;
        victim
    }

    /// The victim's entity, as its healthy peer reaches it.
    fn ledger(&self) -> LedgerRef {
        self.cluster.nodes[1].entity::<Ledger>(self.cluster.id_on(0))
    }

    async fn is_well(&self) {
        let asked = tokio::time::timeout(SOON, self.ledger().entries()).await;
        asked.expect("a healthy peer is answered").unwrap();
        let back = self.cluster.nodes[0].entity::<Ledger>(self.cluster.id_on(1));
        back.entries().await.unwrap();
        assert_eq!(panics(), self.panics);
    }

    async fn enter(&self) -> Stranger {
        Stranger::enter(self.address, &Hello::to("node-1")).await
    }

    /// A stranger says this after the handshake; the connection ends, with a reason.
    async fn ends(&self, said: &[u8], reason: &str) {
        let mut stranger = self.enter().await;
        stranger.say(said).await;
        let words = stranger.last_words().await;
        assert!(words.contains(reason), "{words:?} instead of {reason:?}");
        self.is_well().await;
    }

    fn letter(&self, request: u64, said: &Said) -> Letter {
        let id = self.cluster.ids_on(0).nth(1).unwrap();
        Letter::ask(request, self.cluster.shard(&id), &id, said)
    }

    fn add(&self, request: u64) -> Letter {
        let reply = Some(0);
        self.letter(request, &Said::Add { entry: 1, reply })
    }

    async fn leave(self) {
        self.is_well().await;
        self.cluster.leave().await;
    }

    /// The last stranger goes, too: a node that leaves waits a moment for those who stay.
    async fn leave_with<S>(self, stranger: S) {
        drop(stranger);
        self.leave().await;
    }
}

/// How often the code of the links has panicked in this process.
fn panics() -> usize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    static HOOKED: OnceLock<()> = OnceLock::new();
    HOOKED.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_ours = |file: &str| file.contains("src/link") || file.contains("src/stream");
            if info.location().is_some_and(|at| is_ours(at.file())) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(info);
        }));
    });
    PANICS.load(Ordering::SeqCst)
}

#[tokio::test]
async fn garbage_is_shown_the_door() {
    let log = Log::listen();
    let victim = Victim::new().await;
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..200 {
        let mut garbage = vec![0; random.usize(12..2000)];
        random.fill(&mut garbage);
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&garbage).await;
        assert_eq!(stranger.until_closed().await, 0, "round {round}");
    }
    for text in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "OSTRAKAN, or so"] {
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(text.as_bytes()).await;
        assert_eq!(stranger.until_closed().await, 0, "{text}");
    }
    log.says(&["a connection is refused", "it does not begin as one"])
        .await;
    // Who knows the beginning gets no further with garbage.
    for _ in 0..200 {
        let mut garbage = vec![0; random.usize(4..2000)];
        random.fill(&mut garbage);
        let length = garbage.len() as u32 - 4;
        garbage[..4].copy_from_slice(&length.to_le_bytes());
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&[&OPENING[..], &garbage].concat()).await;
        assert_eq!(stranger.until_closed().await, 0);
    }
    log.says(&["a connection is refused", "it says something unreadable"])
        .await;
    // Nor with garbage in place of frames.
    for _ in 0..200 {
        let mut garbage = vec![0; random.usize(1..2000)];
        random.fill(&mut garbage);
        let mut stranger = victim.enter().await;
        stranger.say(&garbage).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
    }
    victim.leave().await;
}

#[tokio::test]
async fn a_handshake_that_is_cut_anywhere_is_no_handshake() {
    let victim = Victim::new().await;
    let opening = Hello::to("node-1").opening();
    for length in 0..opening.len() {
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&opening[..length]).await;
        stranger.fall_silent().await;
        assert_eq!(stranger.until_closed().await, 0, "after {length} bytes");
    }
    // It was welcome, but is not ready.
    let mut stranger = Stranger::dial(victim.address).await;
    stranger.introduce(&Hello::to("node-1")).await.welcome();
    stranger.fall_silent().await;
    assert_eq!(stranger.until_closed().await, 0);
    victim.leave().await;
}

#[tokio::test]
async fn whoever_speaks_too_slowly_is_shown_the_door() {
    let log = Log::listen();
    let patience = Duration::from_millis(200);
    let victim = Victim::within(Limits::default().handshake(patience)).await;
    let began = Instant::now();
    let slow = (0..8).map(|_| async {
        let stream = TcpStream::connect(victim.address).await.unwrap();
        let (mut read, mut write) = stream.into_split();
        let speaks = async {
            for byte in Hello::to("node-1").opening() {
                // So slow is this one that it would take seconds.
                tokio::time::sleep(Duration::from_millis(20)).await;
                if write.write_all(&[byte]).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let mut byte = [0];
        tokio::select! {
            read = read.read(&mut byte) => assert!(matches!(read, Ok(0) | Err(_))),
            () = speaks => {}
        }
    });
    let all = futures_util::future::join_all(slow);
    tokio::time::timeout(SOON, all).await.unwrap();
    assert!(began.elapsed() >= patience && began.elapsed() < Duration::from_secs(3));
    log.says(&["a connection is refused", "took longer than 200ms"])
        .await;
    // Silence is no better.
    let mut silent = Stranger::dial(victim.address).await;
    assert_eq!(silent.until_closed().await, 0);
    victim.leave().await;
}

#[tokio::test]
async fn a_handshake_has_a_bound() {
    let log = Log::listen();
    let victim = Victim::new().await;
    for length in [64 * 1024 + 1, u32::MAX] {
        let mut stranger = Stranger::dial(victim.address).await;
        stranger
            .say(&[&OPENING[..], &length.to_le_bytes()].concat())
            .await;
        assert_eq!(stranger.until_closed().await, 0);
    }
    log.says(&["refused", "it says more than a handshake needs"])
        .await;
    // As deep as it can be within the bound.
    let nested = vec![0x91; 60_000];
    let length = nested.len() as u32;
    let mut stranger = Stranger::dial(victim.address).await;
    stranger
        .say(&[&OPENING[..], &length.to_le_bytes(), &nested].concat())
        .await;
    assert_eq!(stranger.until_closed().await, 0);
    let mut unknown = vec![0x81, 0xA1, b'x'];
    unknown.extend_from_slice(&nested);
    let length = unknown.len() as u32;
    let mut stranger = Stranger::dial(victim.address).await;
    stranger
        .say(&[&OPENING[..], &length.to_le_bytes(), &unknown].concat())
        .await;
    assert_eq!(stranger.until_closed().await, 0);
    victim.leave().await;
}

#[tokio::test]
async fn a_frame_that_is_no_frame_ends_the_connection_with_a_reason() {
    let victim = Victim::new().await;
    let too_long = [&70_000_u32.to_le_bytes()[..], &[0; 100]].concat();
    victim.ends(&too_long, "a frame of 70004 bytes").await;
    victim.ends(&[0xFF; 64], "longer than the").await;
    victim.ends(&[0; 4], "shorter than its fields").await;
    victim
        .ends(&frame(kind::END, 1, &[9]), "a number in a frame")
        .await;
    let endless_number = frame(kind::CREDIT, 1, &[0xFF; 11]);
    victim.ends(&endless_number, "a number in a frame").await;
    let mut kind_too_long = victim.add(1);
    kind_too_long.kind = vec![b'k'; 100_000 / 2];
    victim
        .ends(&kind_too_long.frame(), "longer than allowed")
        .await;
    let mut id_too_long = victim.add(1);
    id_too_long.id = vec![b'i'; 60_000];
    victim
        .ends(&id_too_long.frame(), "longer than allowed")
        .await;
    let mut not_text = victim.add(1);
    not_text.id = vec![0xC3, 0x28];
    victim.ends(&not_text.frame(), "not UTF-8").await;
    let mut not_text = victim.add(1);
    not_text.kind = vec![0xFF];
    victim.ends(&not_text.frame(), "not UTF-8").await;
    let mut no_shard = victim.add(1);
    no_shard.shard = u64::MAX;
    victim.ends(&no_shard.frame(), "a number in a frame").await;
    let mut many = victim.add(1);
    many.ports = (1..=1000).map(|n| (ANSWER_PORT, n)).collect();
    victim.ends(&many.frame(), "more than 64 replies").await;
    let mut broken_ports = victim.add(1).fields();
    broken_ports.truncate(broken_ports.len() - victim.add(1).payload.len() - 2);
    victim
        .ends(&frame(kind::MESSAGE, 1, &broken_ports), "shorter than")
        .await;
    victim.leave().await;
}

#[tokio::test]
async fn a_return_within_a_return_is_not_followed() {
    let victim = Victim::new().await;
    let mut body = Vec::new();
    for _ in 0..10_000 {
        body.extend_from_slice(&[kind::RETURNED, 0, 0, 0]);
    }
    body.push(kind::MESSAGE);
    let length = body.len() as u32;
    let said = [&length.to_le_bytes()[..], &body].concat();
    victim.ends(&said, "a number in a frame").await;
    victim.leave().await;
}

#[tokio::test]
async fn parts_that_never_end_are_cut_off_at_the_limit() {
    let limit = 256 * 1024;
    let victim = Victim::within(Limits::default().message(limit)).await;
    let part = |last: u8, bytes: &[u8]| frame(kind::PART, 0, &[&[last], bytes].concat());
    let more = part(0, &[0; 64 * 1024]);
    let mut stranger = victim.enter().await;
    for _ in 0..4 {
        stranger.say(&more).await;
        let read = stranger.frame_of(kind::PARTS_READ).await;
        let mut expected = Vec::new();
        put_number(&mut expected, 64 * 1024);
        assert_eq!(read.fields(), expected);
    }
    // Unfinished, but within bounds: the connection goes on.
    stranger.is_heard().await;
    for _ in 0..3 {
        stranger.say(&more).await;
    }
    let words = stranger.last_words().await;
    assert!(words.contains("262144 that are allowed"), "{words}");
    // A whole that is not what it says.
    victim.ends(&part(1, b"x"), "shorter than its fields").await;
    let inner = part(1, b"x");
    victim
        .ends(&part(1, &inner), "shorter than its fields")
        .await;
    let long = [&100_u32.to_le_bytes()[..], &[1; 50]].concat();
    victim
        .ends(&part(1, &long), "shorter than its fields")
        .await;
    // Nothing at all, many times.
    let mut stranger = victim.enter().await;
    for _ in 0..1000 {
        stranger.say(&part(0, &[])).await;
    }
    stranger.is_heard().await;
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn answers_that_nobody_waits_for_are_dropped() {
    let victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    let mut dropped = Vec::new();
    put_section(&mut dropped, b"no such kind");
    put_section(&mut dropped, b"x");
    dropped.extend_from_slice(&[1, 0]);
    let mut returned = Vec::new();
    put_section(&mut returned, b"somebody");
    returned.push(3);
    returned.extend_from_slice(&victim.add(9).frame()[4..]);
    let mut fence = Vec::new();
    put_section(&mut fence, b"no such group");
    put_number(&mut fence, 4_000_000);
    for request in [0, 1, 2, 77, 1 << 20, (1 << 20) + 1, 1 << 40, u64::MAX] {
        for (kind, fields) in [
            (kind::ANSWER, &b"an answer"[..]),
            (kind::FAULT, &[9, 0]),
            (kind::FAULT, &[200, 1, 3, b'w', b'h', b'y']),
            (kind::DROPPED, &dropped),
            (kind::RETURNED, &returned),
            (kind::ITEM, &b"an item"[..]),
            (kind::END, &[0]),
            (kind::CREDIT, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
            (kind::CANCEL, &[]),
            (kind::FENCE, &fence),
            (kind::FENCED, &[]),
            (kind::PARTS_READ, &[0xFF, 0xFF, 0x7F]),
            (kind::PONG, &[]),
            (0, b"nothing"),
        ] {
            stranger.say(&frame(kind, request, fields)).await;
            stranger.is_heard().await;
        }
    }
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn a_message_that_cannot_be_delivered_is_answered_and_nothing_more() {
    let victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    let mut request = 0;
    let mut refused = async |change: &dyn Fn(&mut Letter)| {
        request += 1;
        let mut letter = victim.add(request);
        change(&mut letter);
        stranger.say(&letter.frame()).await;
        let fault = stranger.frame_of(kind::FAULT).await;
        assert_eq!(fault.request(), request);
        fault.fault()
    };
    let unknown_kind = refused(&|letter| letter.kind = b"no such kind".to_vec()).await;
    assert_eq!(unknown_kind.0, 1);
    refused(&|letter| letter.id.clear()).await;
    // Another shard than its id has; one that there is not.
    refused(&|letter| letter.shard = letter.shard % 12 + 1).await;
    refused(&|letter| letter.shard = 1_000_000).await;
    assert_eq!(refused(&|letter| letter.payload.clear()).await.0, 4);
    assert_eq!(
        refused(&|letter| letter.payload = vec![0xC1; 500]).await.0,
        4
    );
    assert_eq!(
        refused(&|letter| letter.payload = vec![0x91; 20_000])
            .await
            .0,
        4
    );
    // Replies that are not there, or of another sort.
    assert_eq!(refused(&|letter| letter.ports.clear()).await.0, 4);
    let stream = |letter: &mut Letter| letter.ports = vec![(STREAM_PORT, 99)];
    assert_eq!(refused(&stream).await.0, 4);
    let codec = refused(&|letter| letter.ports[0].0 = 42).await;
    assert!(codec.1.contains("codec 42 is unknown here"), "{codec:?}");
    // As to an actor, and its ask.
    let nobody = refused(&|letter| letter.shard = 0).await;
    assert_ne!(nobody.0, 0);
    assert_eq!(victim.ledger().add(5).await.unwrap(), 1);
    let ledger =
        victim.cluster.nodes[1].entity::<Ledger>(&victim.cluster.ids_on(0).nth(1).unwrap());
    assert_eq!(ledger.entries().await.unwrap(), [] as [u64; 0]);
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn requests_of_the_same_number_do_no_harm() {
    let victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    for _ in 0..100 {
        let mut letter = victim.add(5);
        letter.ports = vec![(ANSWER_PORT, 5), (ANSWER_PORT, 5), (STREAM_PORT, 5)];
        stranger.say(&letter.frame()).await;
    }
    stranger.is_heard().await;
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn items_beyond_the_credit_end_the_connection() {
    let mut victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    stranger.is_heard().await;
    // One shard belongs to the stranger.
    let id = victim.cluster.ids_on(0).nth(1).unwrap();
    let shard = victim.cluster.shard(&id);
    let name = ostrakon::NodeName::new(NAME).unwrap();
    let map = &victim.cluster.map;
    let map = map.with(&GroupName::default(), shard, owned(&name, 2));
    victim.cluster.map = map;
    for node in &victim.cluster.nodes {
        testing::adopt(node, &victim.cluster.map).await;
    }
    let ledger = victim.cluster.nodes[0].entity::<Ledger>(&id);
    let opened = tokio::spawn(async move { ledger.sized(vec![1; 10]).await });
    let message = stranger.frame_of(kind::MESSAGE).await;
    let opening = message.request();
    // The stream is the other request that the message brings.
    let items = (1..=opening + 4).filter(|n| *n != opening);
    stranger.say(&frame(kind::ANSWER, opening, &[])).await;
    let mut stream = tokio::time::timeout(SOON, opened)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    for request in items {
        // One unit each, of the 64 that nobody has asked for more than.
        for _ in 0..64 {
            stranger
                .say(&frame(kind::ITEM, request, &[0xC4, 1, 7]))
                .await;
        }
    }
    stranger.is_heard().await;
    for request in 1..=opening + 4 {
        stranger
            .say(&frame(kind::ITEM, request, &[0xC4, 1, 7]))
            .await;
    }
    let words = stranger.last_words().await;
    assert!(
        words.contains("more of a stream than it was allowed"),
        "{words}"
    );
    let mut items = 0;
    let end = loop {
        match stream.next().await {
            Some(Ok(_)) => items += 1,
            end => break end,
        }
    };
    assert_eq!(end, Some(Err(StreamError::Interrupted)));
    assert_eq!(items, 64);
    victim.cluster.leave().await;
}

/// A conversation after the handshake with something of everything.
fn conversation(victim: &Victim) -> Vec<u8> {
    let mut letter = victim.letter(
        3,
        &Said::Refuse {
            why: "no".to_owned(),
            reply: Some(0),
        },
    );
    letter.options.push(1);
    put_section(&mut letter.options, &[7; 25]);
    let mut fence = Vec::new();
    put_section(&mut fence, b"default");
    put_number(&mut fence, letter.shard);
    let mut part = vec![1];
    part.extend_from_slice(&victim.add(4).frame());
    [
        letter.frame(),
        frame(kind::FENCE, 8, &fence),
        frame(kind::PART, 0, &part),
        frame(kind::CANCEL, 3, &[]),
        frame(kind::PING, 6, &[]),
    ]
    .concat()
}

#[tokio::test]
async fn a_conversation_may_end_anywhere() {
    let victim = Victim::new().await;
    let all = conversation(&victim);
    for length in 0..all.len() {
        let mut stranger = victim.enter().await;
        stranger.say(&all[..length]).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
    }
    victim.leave().await;
}

#[tokio::test]
async fn every_bit_of_a_handshake_may_be_flipped() {
    let victim = Victim::new().await;
    let mut opening = Hello::to("node-1").opening();
    for bit in 0..opening.len() * 8 {
        opening[bit / 8] ^= 1 << (bit % 8);
        let mut stranger = Stranger::dial(victim.address).await;
        stranger.say(&opening).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
        opening[bit / 8] ^= 1 << (bit % 8);
    }
    victim.leave().await;
}

#[tokio::test]
async fn every_bit_of_a_conversation_may_be_flipped() {
    let victim = Victim::new().await;
    let mut all = conversation(&victim);
    for bit in 0..all.len() * 8 {
        all[bit / 8] ^= 1 << (bit % 8);
        let mut stranger = victim.enter().await;
        stranger.say(&all).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
        all[bit / 8] ^= 1 << (bit % 8);
        if bit % 256 == 0 {
            victim.is_well().await;
        }
    }
    victim.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_asks_and_does_not_read_is_cut_off_and_nobody_else_notices() {
    let victim = Victim::within(Limits::default().waiting(256 * 1024)).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let stream = socket.connect(victim.address).await.unwrap();
    let mut stranger = Stranger::on(stream);
    let welcome = stranger.introduce(&Hello::to("node-1")).await.welcome();
    stranger.ready(welcome.challenge).await;
    let ask = |request| {
        let why = "x".repeat(12_000);
        let reply = Some(0);
        victim.letter(request, &Said::Refuse { why, reply }).frame()
    };
    let asks = 8000;
    let mut longest = Duration::ZERO;
    let ledger = victim.ledger();
    let healthy = async {
        loop {
            let began = Instant::now();
            ledger.add(1).await.unwrap();
            longest = longest.max(began.elapsed());
        }
    };
    let flood = async {
        for request in 1..=asks {
            stranger.say(&ask(request)).await;
        }
        // Once it reads again there is one outcome for each, although not always an answer.
        let (mut outcomes, mut bytes) = (BTreeSet::new(), 0);
        while outcomes.len() < asks as usize {
            let frame = stranger.frame().await.expect("the connection lives");
            assert!(matches!(frame.kind(), kind::ANSWER | kind::FAULT));
            assert!(outcomes.insert(frame.request()), "{frame:?}");
            bytes += frame.0.len();
        }
        bytes
    };
    let bytes = tokio::select! {
        bytes = flood => bytes,
        () = healthy => 0,
    };
    assert!(longest < Duration::from_secs(1), "{longest:?}");
    // What waited for the stranger, and what the system held for it: not the hundred megabytes of all answers.
    assert!(bytes < 20_000_000, "{bytes}");
    stranger.is_heard().await;
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn a_peer_that_sends_signs_and_does_not_read_is_cut_off() {
    let log = Log::listen();
    let victim = Victim::within(Limits::default().waiting(64 * 1024)).await;
    let mut stranger = victim.enter().await;
    let pings = frame(kind::PING, u64::MAX, &[]).repeat(10_000);
    // Each is answered; the answers would be far more than may wait.
    let flood = async {
        for _ in 0..200 {
            stranger.say(&pings).await;
        }
    };
    tokio::select! {
        () = flood => {}
        _ = log.says(&["connection ended", "peer=stranger", "does not read"]) => {}
    }
    log.says(&["connection ended", "peer=stranger", "does not read"])
        .await;
    victim.leave().await;
}

#[tokio::test]
async fn too_many_connections_are_closed_and_the_others_live_on() {
    let log = Log::listen();
    let victim = Victim::within(Limits::default().connections(4)).await;
    // Two belong to the healthy peer, who has dialed.
    let mut known = victim.enter().await;
    let idle = Stranger::dial(victim.address).await;
    known.is_heard().await;
    for _ in 0..20 {
        let mut more = Stranger::dial(victim.address).await;
        assert_eq!(more.until_closed().await, 0);
    }
    log.says(&["too many connections; one is refused"]).await;
    known.is_heard().await;
    victim.is_well().await;
    // There is room again once somebody has gone.
    drop(idle);
    let again = async {
        loop {
            let mut stranger = Stranger::dial(victim.address).await;
            stranger.say(&Hello::to("node-1").opening()).await;
            if stranger
                .hear_text::<crate::handshakes::stranger::Judgement>()
                .await
                .is_some()
            {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, again).await.unwrap();
    victim.leave_with(known).await;
}
