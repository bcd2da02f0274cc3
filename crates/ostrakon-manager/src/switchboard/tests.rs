//! Many who follow the log.

use std::time::{Duration, Instant};

use ostrakon_control::{Conversation, FromNode};
use ostrakon_core::{Command, Entry as LogEntry, Policy, Term};
use tokio::{io::AsyncReadExt, sync::mpsc};

use super::*;

/// Writes so many entries into a log.
fn grow(view: &mut View, entries: u64) {
    let end = view.state().applied().get();
    for number in end + 1..=end + entries {
        let entry = LogEntry {
            term: Term::new(1),
            command: Command::SetPolicy(Policy::default()),
        };
        view.apply(Index::new(number), &entry);
    }
}

/// Somebody who follows the log; what it is told goes to the other end.
fn follower(
    switchboard: &mut Switchboard,
    number: u64,
    buffer: usize,
) -> (Conversation<FromManager>, tokio::io::DuplexStream) {
    let (near, far) = tokio::io::duplex(buffer);
    let (conversation, mouth) = Conversation::new(Box::new(near));
    let name = NodeName::new(format!("node-{number}")).unwrap();
    switchboard.arrived(number, name, Seat::Node, mouth);
    switchboard.follow(number, Index::default());
    (conversation, far)
}

#[tokio::test]
async fn whoever_takes_nothing_lets_little_wait() {
    let (mut switchboard, mut view) = (Switchboard::default(), View::default());
    let (_unheard, _far) = follower(&mut switchboard, 1, 64);
    for _ in 0..200 {
        grow(&mut view, 1);
        switchboard.tell_news(&view);
    }
    let line = &switchboard.lines[&1];
    assert_eq!(line.mouth.waiting(), NEWS_AHEAD);
    assert_eq!(line.told, Some(Index::new(NEWS_AHEAD as u64)));
}

#[tokio::test]
async fn words_to_a_name_go_to_all_lines_that_have_it_and_to_no_other() {
    let mut switchboard = Switchboard::default();
    let mut ends = Vec::new();
    for (number, name) in [(1, "a"), (2, "b"), (3, "a")] {
        let (near, far) = tokio::io::duplex(64);
        let (conversation, mouth) = Conversation::new(Box::new(near));
        switchboard.arrived(number, NodeName::new(name).unwrap(), Seat::Node, mouth);
        ends.push((conversation, far));
    }
    let name = NodeName::new("a").unwrap();
    let waiting = |switchboard: &Switchboard| {
        let lines = switchboard.lines.values();
        lines.map(|line| line.mouth.waiting()).collect::<Vec<_>>()
    };
    switchboard.say_to(&name, &FromManager::Ping);
    assert_eq!(waiting(&switchboard), [1, 0, 1]);
    switchboard.hung(1);
    switchboard.say_to(&name, &FromManager::Ping);
    assert_eq!(waiting(&switchboard), [0, 2]);
}

/// A thousand nodes hear of ten thousand entries, ten at a time. The engine does nothing else meanwhile, so it must be quick.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_followers_are_told_ten_thousand_entries() {
    let (mut switchboard, mut view) = (Switchboard::default(), View::default());
    grow(&mut view, 1);
    let mut reading = tokio::task::JoinSet::new();
    for number in 0..1000 {
        let (conversation, mut far) = follower(&mut switchboard, number, 1 << 16);
        let (ears, unheard) = mpsc::channel::<()>(1);
        reading.spawn(async move {
            let heard = |_: FromNode| Ok(());
            conversation
                .run(Duration::from_secs(15), &ears, heard)
                .await;
            drop(unheard);
        });
        reading.spawn(async move {
            let mut buffer = vec![0; 1 << 14];
            while far.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        });
    }
    let began = Instant::now();
    let (mut told, mut longest) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..1000 {
        grow(&mut view, 10);
        let round = Instant::now();
        switchboard.tell_news(&view);
        longest = longest.max(round.elapsed());
        told += round.elapsed();
        tokio::task::yield_now().await;
    }
    let end = Some(view.state().applied());
    while switchboard.lines.values().any(|line| line.told != end) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "they do not keep up"
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
        switchboard.tell_news(&view);
    }
    println!("1,000 rounds took {told:?}, the longest {longest:?}");
    assert!(told < Duration::from_secs(30), "{told:?}");
}
