//! Peers that take more than their share.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use ostrakon::{AskError, TellError};
use tokio::net::TcpSocket;

use super::*;
use crate::{
    handshakes::{
        log::Log,
        stranger::{frame, kind},
    },
    ledger::Gate,
};

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

#[tokio::test]
async fn small_asks_that_wait_here_take_no_more_memory_than_their_sender_may_use() {
    const SIZE: usize = 12_000;
    let limits = Limits::default().waiting(64 * 1024);
    let victim = Victim::within(limits).await;
    let (gate, busy) = ("g".repeat(SIZE), victim.ledger());
    let asks: Vec<_> = (0..100)
        .map(|_| {
            let (gate, busy) = (gate.clone(), busy.clone());
            tokio::spawn(async move { busy.wait(gate).await })
        })
        .collect();
    Gate::of(&gate).reached_by(1).await;
    let id = victim.cluster.ids_on(0).nth(1).unwrap();
    let other = victim.cluster.nodes[1].entity::<Ledger>(id);
    let is_congested = |error: &AskError| matches!(error, AskError::NotSent(TellError::Congested { node }) if node.as_str() == "node-1");
    assert!(is_congested(&other.add(1).await.unwrap_err()));
    Gate::of(&gate).open();
    let mut handled = 0;
    for asked in asks {
        match asked.await.unwrap() {
            Ok(_) => handled += 1,
            Err(error) => assert!(is_congested(&error), "{error}"),
        }
    }
    // Four times as much as may wait to be sent.
    let most = 4 * 64 * 1024 / SIZE;
    assert!((most..most + 3).contains(&handled), "{handled} of {most}");
    assert_eq!(other.add(1).await, Ok(1), "there is room again");
    victim.leave().await;
}
