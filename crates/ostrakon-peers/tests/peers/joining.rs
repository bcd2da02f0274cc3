//! How peers find each other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon_peers::{Entered, Peer, PeerSettings, Seeds, StartError};
use tokio::net::TcpStream;

use crate::support::{Log, SOON, free_address, settings, start, until, up};

const TIMES: usize = 50;

#[derive(Clone, Copy, Debug)]
enum Order {
    LowFirst,
    HighFirst,
    Together,
}

/// Two peers that name each other, at addresses of which the first is the lower; how long until both are members.
async fn meet(order: Order) -> Duration {
    let mut addresses = [free_address(), free_address()];
    addresses.sort();
    let [low, high] = addresses.clone();
    let starting = |name: &str, own: &str, other: &str| {
        Peer::start(PeerSettings::new("bank", name, own).seeds([other]))
    };
    let began = Instant::now();
    let (low, high) = match order {
        Order::LowFirst => {
            let first = starting("low", &low, &high).await;
            (first, starting("high", &high, &low).await)
        }
        Order::HighFirst => {
            let first = tokio::spawn(starting("high", &high, &low));
            while TcpStream::connect(&high).await.is_err() {
                tokio::task::yield_now().await;
            }
            let second = starting("low", &low, &high).await;
            (second, first.await.unwrap())
        }
        Order::Together => {
            tokio::join!(starting("low", &low, &high), starting("high", &high, &low))
        }
    };
    let (low, high) = (low.unwrap(), high.unwrap());
    let took = began.elapsed();
    assert_eq!(*low.entered(), Entered::Formed);
    assert_eq!(low.cluster(), high.cluster());
    for peer in [&low, &high] {
        until(peer, |snapshot| up(snapshot) == 2).await;
    }
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_peers_are_one_cluster_in_whatever_order_they_start() {
    for order in [Order::LowFirst, Order::HighFirst, Order::Together] {
        let mut longest = Duration::ZERO;
        for _ in 0..TIMES {
            let met = tokio::time::timeout(SOON, meet(order));
            longest = longest.max(met.await.expect("they do not meet"));
        }
        println!("{order:?}: {TIMES} times, at most {longest:.1?}");
        assert!(longest < Duration::from_secs(5), "{order:?}: {longest:?}");
    }
}

#[tokio::test]
async fn a_peer_without_seeds_is_a_cluster_of_its_own_on_a_free_port() {
    let began = Instant::now();
    let peer = start("alone", Seeds::none()).await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_ne!(peer.address().port(), 0);
    let snapshot = peer.topology().borrow().clone();
    assert_eq!(snapshot.cluster, Some(peer.cluster()));
    assert_eq!(
        snapshot.members[0].address.as_str(),
        peer.address().to_string()
    );
}

#[tokio::test]
async fn a_seed_that_is_the_peer_itself_does_no_harm() {
    for advertised in ["127.0.0.1:0", "127.0.0.9:0"] {
        let own = free_address();
        let began = Instant::now();
        let mut settings = PeerSettings::new("bank", "alone", &own).seeds([own.clone()]);
        settings.advertise = Some(advertised.to_owned());
        let peer = Peer::start(settings).await.unwrap();
        assert_eq!(*peer.entered(), Entered::Formed);
        assert!(began.elapsed() < Duration::from_secs(2), "{advertised}");
    }
}

#[tokio::test]
async fn a_seed_may_be_a_name_or_come_from_a_function() {
    let first = start("first", Seeds::none()).await;
    let port = first.address().port();
    let named = start("named", [format!("localhost:{port}")]).await;
    // Nobody is named at first.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let seeds = Seeds::asked(move || {
        let tries = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let seed = (tries > 0).then(|| format!("localhost:{port}"));
        async move { seed.into_iter().collect() }
    });
    let told = start("told", seeds).await;
    for peer in [&first, &named, &told] {
        until(peer, |snapshot| up(snapshot) == 3).await;
        assert_eq!(peer.cluster(), first.cluster());
    }
}

/// As when a name is looked up again: at first there is nothing where it points to.
#[tokio::test]
async fn a_seed_that_moves_is_found_where_it_is_now() {
    let (now, later) = (free_address(), free_address());
    let nowhere = std::net::TcpListener::bind(&now).unwrap();
    let moving = std::sync::atomic::AtomicUsize::new(0);
    let places = [now, later.clone()];
    let seeds = Seeds::asked(move || {
        let tries = moving.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let seed = places[tries.min(1)].clone();
        async move { vec![seed] }
    });
    let never = settings("second").seeds(seeds).tuned(|config| {
        config.forming = ostrakon_core::Forming::Never;
    });
    let first = PeerSettings::new("bank", "first", &later);
    let (first, second) = tokio::join!(Peer::start(first), Peer::start(never));
    assert_eq!(first.unwrap().cluster(), second.unwrap().cluster());
    drop(nowhere);
}

/// As under one name for all, which at first answers everybody with itself.
#[tokio::test]
async fn peers_that_see_only_themselves_form_no_cluster_if_it_takes_two() {
    let log = Log::keep();
    let addresses = [free_address(), free_address(), free_address()];
    let all_are_named = Arc::new(AtomicBool::new(false));
    let starting = (1..).zip(&addresses).map(|(number, own)| {
        let (all, own, named) = (addresses.clone(), own.clone(), Arc::clone(&all_are_named));
        let mut settings = PeerSettings::new("bank", format!("lone-{number}"), &own);
        settings.forms_with = 2;
        settings = settings.seeds(Seeds::asked(move || {
            let seeds = match named.load(Ordering::Relaxed) {
                true => all.to_vec(),
                false => vec![own.clone()],
            };
            async move { seeds }
        }));
        tokio::spawn(Peer::start(settings))
    });
    let starting: Vec<_> = starting.collect();
    for number in 1..=3 {
        let lone = format!("and 1 of 2 are there: lone-{number}");
        log.line_with(&["no cluster yet: this peer is to form", &lone])
            .await;
    }
    assert!(starting.iter().all(|start| !start.is_finished()));
    all_are_named.store(true, Ordering::Relaxed);
    let mut peers = Vec::new();
    for start in starting {
        peers.push(start.await.unwrap().unwrap());
    }
    for peer in &peers {
        assert_eq!(peer.cluster(), peers[0].cluster());
        until(peer, |snapshot| up(snapshot) == 3).await;
    }
}

#[tokio::test]
async fn a_peer_that_waited_in_vain_for_others_says_how_many_it_takes() {
    let mut lone = settings("alone");
    (lone.forms_with, lone.join_within) = (3, Duration::from_millis(50));
    let error = Peer::start(lone).await.err().unwrap();
    let text = error.to_string();
    assert!(text.contains("which takes 3 peers"), "{text}");
    let mut nobody = settings("nobody");
    nobody.forms_with = 0;
    let error = Peer::start(nobody).await.err().unwrap().to_string();
    assert!(error.contains("forms_with is zero"), "{error}");
}

#[tokio::test]
async fn a_peer_that_finds_no_cluster_says_what_it_has_tried() {
    let nobody = free_address();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent
        .local_addr()
        .map(|at| (silent, at.to_string()))
        .unwrap();
    let seeds = [
        nobody.clone(),
        silent.1.clone(),
        "no-such-host.invalid:1".to_owned(),
    ];
    let mut lost = settings("lost").seeds(seeds).tuned(|config| {
        config.forming = ostrakon_core::Forming::Never;
    });
    lost.join_within = Duration::from_secs(4);
    let error = Peer::start(lost).await.err().unwrap();
    let text = error.to_string();
    println!("{text}");
    assert!(matches!(error, StartError::NotJoined { .. }), "{text}");
    for part in [
        format!("{nobody}: Connection refused"),
        format!("{}: it did not answer within", silent.1),
        "no-such-host.invalid:1: ".to_owned(),
    ] {
        assert!(text.contains(&part), "{text}");
    }
}

#[tokio::test]
async fn what_cannot_work_is_said_at_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken
        .local_addr()
        .map(|at| (taken, at.to_string()))
        .unwrap();
    let listen = PeerSettings::new("bank", "node-1", &taken.1);
    let unprotected = PeerSettings::new("bank", "node-1", "0.0.0.0:0");
    let nameless = PeerSettings::new("bank", "no name", "127.0.0.1:0");
    let mut nowhere = settings("node-1");
    nowhere.advertise = Some("0.0.0.0:0".to_owned());
    let hasty = settings("node-1").tuned(|config| config.gossip_every = Duration::ZERO);
    for (settings, reason) in [
        (listen, "cannot listen on `127.0.0.1:"),
        (unprotected, "connections there need TLS"),
        (nameless, "a name cannot be used"),
        (nowhere, "set the address to advertise"),
        (hasty, "gossip_every is zero"),
    ] {
        let error = Peer::start(settings).await.err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
