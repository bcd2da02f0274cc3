//! What peers ask each other, and whom else they listen to.

use std::time::{Duration, Instant};

use ostrakon_control::{Hello, Seat, dial_role};
use ostrakon_core::Address;
use ostrakon_peers::{CallError, Peer};
use ostrakon_tls::{Role, Security};
use tokio::sync::mpsc;

use crate::support::{SOON, cluster, free_address};

fn address(peer: &Peer) -> Address {
    Address::new(peer.address().to_string()).unwrap()
}

/// Answers with who has asked, and what; never, if it is asked nothing.
fn echo(peer: &Peer) {
    peer.on_call(|from, request| async move {
        if request.is_empty() {
            std::future::pending::<()>().await;
        }
        [from.as_str().as_bytes(), &request].concat()
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_answered_in_both_directions_and_in_any_number() {
    let peers = cluster(&["a", "b"]).await;
    peers.iter().for_each(echo);
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..1000_u32 {
        let (from, to) = (&peers[number as usize % 2], &peers[1 - number as usize % 2]);
        let (wires, to) = (from.wires().clone(), address(to));
        let request = number.to_be_bytes().to_vec();
        let expected = [from.name().as_str().as_bytes(), &request].concat();
        asking.spawn(async move {
            assert_eq!(wires.call(&to, request, SOON).await, Ok(expected));
        });
    }
    asking.join_all().await;
    for peer in &peers {
        assert!(
            (1..=2).contains(&peer.wires().count()),
            "{}",
            peer.wires().count()
        );
    }
}

/// As when it has come in and not opened its log yet.
#[tokio::test]
async fn a_call_waits_for_a_peer_that_is_about_to_answer() {
    let peers = cluster(&["a", "b"]).await;
    let (wires, to) = (peers[0].wires().clone(), address(&peers[1]));
    let call = tokio::spawn(async move { wires.call(&to, vec![1], SOON).await });
    // The answer to this one comes behind it on the same wire: it has arrived by then.
    peers[0].on_call(|_, request| async move { request });
    let back = address(&peers[0]);
    peers[1].call(&back, vec![2], SOON).await.unwrap();
    assert!(!call.is_finished());
    echo(&peers[1]);
    assert_eq!(call.await.unwrap(), Ok(b"a\x01".to_vec()));
}

#[tokio::test]
async fn a_call_that_nobody_answers_fails_as_soon_as_that_is_known() {
    let mut peers = cluster(&["a", "b"]).await;
    let to = address(&peers[1]);
    let late = Duration::from_millis(200);
    assert_eq!(
        peers[0].call(&to, vec![1], late).await,
        Err(CallError::Late(late)),
        "nobody answers calls there"
    );
    echo(&peers[1]);
    assert_eq!(
        peers[0].call(&to, vec![], late).await,
        Err(CallError::Late(late))
    );
    let began = Instant::now();
    let nobody = Address::new(free_address()).unwrap();
    for _ in 0..2 {
        let failed = peers[0].call(&nobody, vec![1], SOON).await;
        assert!(
            matches!(failed, Err(CallError::Unreachable(_))),
            "{failed:?}"
        );
    }
    let too_large = peers[0].call(&to, vec![0; 10 << 20], SOON).await;
    assert!(matches!(too_large, Err(CallError::TooLarge { .. })));
    let gone = peers.pop().unwrap();
    let (broken, ()) = tokio::join!(peers[0].call(&to, vec![], SOON), async {
        // It has the question when it has answered a later one.
        let answered = peers[0].call(&to, vec![1], SOON).await;
        assert_eq!(answered, Ok(b"a\x01".to_vec()));
        gone.stop().await;
    });
    assert_eq!(broken, Err(CallError::Broken));
    assert!(began.elapsed() < SOON / 2);
    let wires = peers[0].wires().clone();
    peers.pop().unwrap().stop().await;
    assert_eq!(
        wires.call(&to, vec![1], SOON).await,
        Err(CallError::Stopped)
    );
}

#[tokio::test]
async fn two_mebibytes_pass_in_one_piece() {
    let peers = cluster(&["a", "b"]).await;
    echo(&peers[1]);
    let request = vec![0xff; (2 << 20) - 64];
    let answer = peers[0]
        .call(&address(&peers[1]), request.clone(), SOON)
        .await
        .unwrap();
    assert_eq!(answer[1..], request);
}

#[tokio::test]
async fn nodes_and_clients_are_passed_on_to_whoever_listens_to_them() {
    let peers = cluster(&["a"]).await;
    let hello = |seat| Hello {
        cluster: "bank".to_owned(),
        name: "caller".to_owned(),
        seat,
    };
    let (callers, mut called) = mpsc::channel(9);
    peers[0].on_caller(move |caller| callers.try_send(caller).ok().unwrap());
    for seat in [Seat::Node, Seat::Client] {
        let (at, plain) = (peers[0].address(), Security::plaintext());
        let dialed = dial_role(Role::Node, at, &plain, &hello(seat), SOON)
            .await
            .ok()
            .unwrap();
        assert_eq!(dialed.name, "a");
        let caller = called.recv().await.unwrap();
        assert_eq!((caller.name.as_str(), caller.seat), ("caller", seat));
    }
}
