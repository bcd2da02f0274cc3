//! How peers notice who is gone, and who is not.

use std::time::{Duration, Instant};

use ostrakon_core::{Profile, TopologyStatus};
use ostrakon_peers::{Peer, PeerEvent, PeerSettings};

use crate::support::{SOON, cluster, member, settings, start, status, until, up};

#[tokio::test]
async fn a_peer_that_ends_without_a_word_is_seen_down_and_comes_back_as_a_later_run() {
    let mut peers = cluster(&["node-1", "node-2", "node-3"]).await;
    let gone = peers.pop().unwrap();
    let (address, seed) = (gone.address().to_string(), peers[0].address().to_string());
    let before = member(&peers[0].topology().borrow(), "node-3")
        .unwrap()
        .generation;
    gone.stop().await;
    let began = Instant::now();
    for peer in &peers {
        until(peer, |snapshot| {
            status(snapshot, "node-3") == Some(TopologyStatus::Down)
        })
        .await;
    }
    println!("both see it down after {:.1?}", began.elapsed());
    let again = PeerSettings::new("bank", "node-3", address).seeds([seed]);
    let again = Peer::start(again).await.unwrap();
    let began = Instant::now();
    for peer in peers.iter().chain([&again]) {
        until(peer, |snapshot| up(snapshot) == 3).await;
        let after = member(&peer.topology().borrow(), "node-3")
            .unwrap()
            .generation;
        assert!(after.run > before.run, "{after} after {before}");
    }
    println!("all see it up again after {:.1?}", began.elapsed());
}

#[tokio::test]
async fn a_peer_that_leaves_is_gone_for_all_and_never_down() {
    let mut peers = cluster(&["node-1", "node-2", "node-3"]).await;
    let leaver = peers.pop().unwrap();
    let mut events = leaver.events();
    let watching = peers[0].topology();
    let never_down = tokio::spawn(async move {
        let mut topology = watching;
        loop {
            let seen = status(&topology.borrow_and_update(), "node-3");
            match seen {
                None => return,
                Some(status) => assert_ne!(status, TopologyStatus::Down),
            }
            topology.changed().await.unwrap();
        }
    });
    let began = Instant::now();
    let leaving = tokio::spawn(async move {
        leaver.leave().await;
        leaver
    });
    for peer in &peers {
        until(peer, |snapshot| member(snapshot, "node-3").is_none()).await;
    }
    println!("gone for all after {:.1?}", began.elapsed());
    let leaver = tokio::time::timeout(SOON, leaving).await.unwrap().unwrap();
    println!("it knows after {:.1?}", began.elapsed());
    assert_eq!(events.recv().await.unwrap(), PeerEvent::Left);
    never_down.await.unwrap();
    // Asked again, it has left already.
    leaver.leave().await;
}

#[tokio::test]
async fn what_a_peer_says_about_itself_is_known_to_all() {
    let peers = cluster(&["node-1", "node-2"]).await;
    let profile = Profile::default()
        .with_weight(7)
        .with_metadata([1, 2])
        .unwrap();
    peers[1].describe(profile.clone()).await;
    until(&peers[0], |snapshot| {
        member(snapshot, "node-2").is_some_and(|member| member.profile == profile)
    })
    .await;
}

#[tokio::test]
async fn subscribers_hear_nothing_while_nothing_changes() {
    let peers = cluster(&["node-1", "node-2", "node-3"]).await;
    let mut topology = peers[0].topology();
    topology.mark_unchanged();
    let quiet = tokio::time::timeout(Duration::from_secs(3), topology.changed()).await;
    assert!(quiet.is_err(), "{:#?}", topology.borrow());
}

#[test]
fn a_busy_user_thread_is_not_taken_for_a_dead_peer() {
    let quiet = tokio::runtime::Runtime::new().unwrap();
    let watchers = quiet.block_on(cluster(&["node-1", "node-2"]));
    let seed = watchers[0].address().to_string();
    let (started, busy) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let peer = start("busy", [seed]).await;
            started.send(()).unwrap();
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(5) {
                std::hint::spin_loop();
            }
            drop(peer);
        });
    });
    busy.recv().unwrap();
    quiet.block_on(async {
        until(&watchers[0], |snapshot| up(snapshot) == 3).await;
        let mut topology = watchers[0].topology();
        topology.mark_unchanged();
        let changed = tokio::time::timeout(Duration::from_secs(4), topology.changed()).await;
        assert!(changed.is_err(), "{:#?}", topology.borrow());
    });
    worker.join().unwrap();
}

#[tokio::test]
async fn a_peer_that_is_dropped_frees_its_port_and_an_unfinished_start_too() {
    let seed = crate::support::free_address();
    let own = crate::support::free_address();
    for round in 0..2 {
        let settings = PeerSettings::new("bank", "node-1", &own);
        if round == 0 {
            let never = settings.seeds([seed.clone()]).tuned(|config| {
                config.forming = ostrakon_core::Forming::Never;
            });
            let unfinished = tokio::time::timeout(Duration::from_millis(200), Peer::start(never));
            assert!(unfinished.await.is_err());
        } else {
            drop(Peer::start(settings).await.unwrap());
        }
        let began = Instant::now();
        while std::net::TcpListener::bind(&own).is_err() {
            assert!(began.elapsed() < SOON);
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_second_peer_of_the_same_name_takes_the_place_of_the_first() {
    let peers = cluster(&["node-1", "twin"]).await;
    let mut events = peers[1].events();
    let twin = settings("twin").seeds([peers[0].address().to_string()]);
    let twin = Peer::start(twin).await.unwrap();
    let by = twin.address().to_string();
    let replaced = async {
        loop {
            if let PeerEvent::Replaced { by } = events.recv().await.unwrap() {
                return by;
            }
        }
    };
    let replaced = tokio::time::timeout(SOON, replaced).await.unwrap();
    assert_eq!(replaced.as_str(), by);
}
