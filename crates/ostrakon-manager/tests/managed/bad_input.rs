//! Callers that say what no caller should. They are refused or hung up on with a reason; nodes and their entities do not notice.

use std::time::{Duration, Instant};

use ostrakon::{Managed, Node};
use ostrakon_control::{FromManager, FromNode, Hello, Seat, dial};
use ostrakon_core::{Incarnation, Index, ToCoordinator, ToRegion};
use ostrakon_manager::{Manager, ManagerSettings, View};
use ostrakon_tls::Security;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    callers::{Caller, SOON, registration},
    cluster::{Counter, Log, builder, is_spread, manager, node, spread, until},
};

fn run_of(view: &View, name: &str) -> Option<Incarnation> {
    let mut members = view.state().members();
    let found = members.find(|(_, member)| member.registration.name.as_str() == name);
    found.map(|(run, _)| run)
}

/// The manager lets nodes in and answers them.
async fn is_well(manager: &Manager, newcomer: &str) {
    let joining = builder(newcomer, manager).start();
    let node = tokio::time::timeout(SOON, joining).await;
    let node = node.expect("it is let in soon").unwrap();
    let counter = node.entity::<Counter>(newcomer);
    assert_eq!(counter.add(1).await.unwrap(), 1);
    node.leave().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_refused_and_nobody_else_notices() {
    let log = Log::listen();
    let manager = manager().await;
    for (bytes, reason) in [
        (
            &b"GET / HTTP/1.1\r\nhost: manager\r\n\r\n"[..],
            "it does not begin as one",
        ),
        (
            &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0, 0],
            "it does not begin as one",
        ),
        (b"OSTRKNM", "early eof"),
        (
            b"OSTRKNM\x01\0\x01\0\x01\xff\xff\xff\xff",
            "a frame of 4294967295 bytes",
        ),
        (
            b"OSTRKNM\x01\0\x01\0\x01\0\0\0\x01\xc1",
            "something unreadable",
        ),
        (
            b"OSTRKNM\x01\0\x07\0\x09\0\0\0\x01\xc1",
            "it speaks versions 7 to 9",
        ),
    ] {
        let mut stream = TcpStream::connect(manager.address().unwrap())
            .await
            .unwrap();
        let from = format!("from={}", stream.local_addr().unwrap());
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        // It may have been reset.
        let _ = stream.read_to_end(&mut answer).await;
        log.says(&["WARN", "a caller is refused", &from, reason])
            .await;
    }
    is_well(&manager, "bad-1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_another_cluster_is_refused_and_knows_why() {
    let log = Log::listen();
    let manager = manager().await;
    let managed = Managed::from(manager.address().unwrap())
        .cluster("elsewhere")
        .join_within(Duration::from_millis(500));
    let node = Node::builder("bad-2").managed(managed).host::<Counter>();
    let error = node.start().await.unwrap_err().to_string();
    let reason = "it belongs to cluster `elsewhere`, and this is a manager of `ostrakon`";
    assert!(error.contains(reason), "{error}");
    log.says(&["WARN", "a caller is refused", reason]).await;
    log.says(&["WARN", "no contact with a manager", reason])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_dawdles_loses_its_place_to_those_who_mean_it() {
    let log = Log::listen();
    let settings = ManagerSettings {
        connections: 3,
        ..ManagerSettings::default()
    };
    let manager = Manager::start(settings).await.unwrap();
    let mut dawdlers = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(manager.address().unwrap())
            .await
            .unwrap();
        stream.write_all(b"OSTRKNM\x01\0").await.unwrap();
        dawdlers.push(stream);
    }
    // There is no fourth place.
    let mut fourth = TcpStream::connect(manager.address().unwrap())
        .await
        .unwrap();
    let from = format!("from={}", fourth.local_addr().unwrap());
    assert_eq!(fourth.read(&mut [0]).await.unwrap_or(0), 0);
    log.says(&["too many connections; one is refused", &from])
        .await;
    let began = Instant::now();
    is_well(&manager, "bad-3").await;
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    for mut dawdler in dawdlers {
        let from = format!("from={}", dawdler.local_addr().unwrap());
        log.says(&["a caller is refused", &from, "it did not answer within 5s"])
            .await;
        assert_eq!(dawdler.read(&mut [0]).await.unwrap_or(0), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_neither_listens_nor_stops_speaking_holds_nobody_up() {
    let manager = manager().await;
    let one = node("bad-4", &manager).await;
    // It asks for the whole log, again and again, and takes nothing of it.
    let hello = Hello {
        cluster: "ostrakon".to_owned(),
        name: "flood".to_owned(),
        seat: Seat::Client,
    };
    let dialed = dial(
        manager.address().unwrap(),
        &Security::plaintext(),
        &hello,
        SOON,
    )
    .await;
    let (mut wire, _) = dialed.unwrap_or_else(|error| panic!("{error}"));
    let behind = Index::default();
    let words = rmp_serde::to_vec_named(&FromNode::Follow { behind }).unwrap();
    let mut frame = u32::try_from(words.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(words);
    let flooding = tokio::spawn(async move { while wire.write_all(&frame).await.is_ok() {} });
    let began = Instant::now();
    for number in 0..3 {
        is_well(&manager, &format!("bad-4-{number}")).await;
        let counter = one.entity::<Counter>("a");
        assert_eq!(counter.add(1).await.unwrap(), number + 1);
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    flooding.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_speaks_for_somebody_else() {
    let log = Log::listen();
    let manager = manager().await;
    let one = node("bad-5", &manager).await;
    until(&manager, "all shards", |view| {
        is_spread(view, &[("bad-5", 300)])
    })
    .await;
    let run = run_of(&manager.desk().view(), "bad-5").unwrap();
    let gone = || ToCoordinator::Gone { incarnation: run };
    let renew = ToCoordinator::Renew {
        incarnation: run,
        seq: 1,
        ok_seq: 0,
        seen: Index::default(),
    };
    for (number, seat, message, reason) in [
        (0, Seat::Node, gone(), "which is of `bad-5`"),
        (1, Seat::Node, renew, "which is of `bad-5`"),
        (
            2,
            Seat::Node,
            registration("bad-5", 77),
            "it registers under another's name, `bad-5`",
        ),
        (3, Seat::Client, gone(), "a client speaks as a node does"),
        (
            4,
            Seat::Client,
            registration("bad-5-4", 78),
            "a client speaks as a node does",
        ),
    ] {
        let name = format!("bad-5-{number}");
        let caller = Caller::call(manager.address().unwrap(), &name, seat).await;
        caller.say(message);
        caller.ends().await;
        let name = format!("name={name}");
        log.says(&["WARN", "a caller is hung up on", &name, reason])
            .await;
    }
    assert_eq!(run_of(&manager.desk().view(), "bad-5"), Some(run));
    assert_eq!(spread(&manager.desk().view()), [("bad-5".to_owned(), 300)]);
    assert_eq!(one.entity::<Counter>("a").add(1).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_connected_and_talks_nonsense_is_hung_up_on() {
    let log = Log::listen();
    let manager = manager().await;
    for (number, bytes, reason) in [
        (0, &[0, 0, 0, 2, 0xc1, 0xc1][..], "something unreadable"),
        (1, &[0xff; 64], "a frame of 4294967295 bytes"),
        (2, b"\0\0\0\x06\xa5Panic", "something unreadable"),
    ] {
        let hello = Hello {
            cluster: "ostrakon".to_owned(),
            name: format!("bad-6-{number}"),
            seat: Seat::Node,
        };
        let dialed = dial(
            manager.address().unwrap(),
            &Security::plaintext(),
            &hello,
            SOON,
        )
        .await;
        let (mut wire, _) = dialed.unwrap_or_else(|error| panic!("{error}"));
        wire.write_all(bytes).await.unwrap();
        let mut rest = Vec::new();
        let _ = wire.read_to_end(&mut rest).await;
        let name = format!("name={}", hello.name);
        log.says(&["WARN", "a caller is hung up on", &name, reason])
            .await;
    }
    is_well(&manager, "bad-6").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_makes_one_run_however_often_and_on_however_many_lines_it_is_sent() {
    let manager = manager().await;
    // Nobody hears what is said before, and these callers do not say it again.
    until(&manager, "its lead", |view| view.leader().is_some()).await;
    let mut lines = Vec::new();
    for _ in 0..3 {
        let caller = Caller::call(manager.address().unwrap(), "bad-7", Seat::Node).await;
        for _ in 0..5 {
            caller.say(registration("bad-7", 42));
        }
        lines.push(caller);
    }
    let mut runs = Vec::new();
    for line in &mut lines {
        let registered = loop {
            let words = tokio::time::timeout(SOON, line.heard.recv()).await.unwrap();
            let words = words.expect("the manager goes on speaking");
            if let FromManager::Say(ToRegion::Registered {
                nonce, incarnation, ..
            }) = words
            {
                assert_eq!(nonce, 42);
                break incarnation;
            }
        };
        runs.push(registered);
    }
    runs.dedup();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(manager.desk().view().state().members().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_with_one_name_are_two_runs_and_own_nothing_together() {
    let log = Log::listen();
    let manager = manager().await;
    let (first, second) = (node("twin", &manager).await, node("twin", &manager).await);
    until(&manager, "both runs", |view| {
        view.state().members().len() == 2
    })
    .await;
    let owners = |view: &View| {
        let shards = view.state().groups().flat_map(|group| group.iter());
        shards
            .filter(|(_, ownership)| ownership.owner().is_some())
            .count()
    };
    until(&manager, "all shards", |view| owners(view) == 300).await;
    log.says(&[
        "WARN",
        "two processes of this name are connected",
        "name=twin",
    ])
    .await;
    // Each acts only as the run that it is: one leaves, and the other stays and gets everything.
    first.leave().await.unwrap();
    until(&manager, "the other to have all", |view| {
        is_spread(view, &[("twin", 300)])
    })
    .await;
    assert_eq!(second.entity::<Counter>("a").add(1).await.unwrap(), 1);
    second.leave().await.unwrap();
    until(&manager, "the farewell", |view| {
        view.state().members().len() == 0
    })
    .await;
}
