//! The child's side: a node that does what it is told until its parent is gone.

use std::{
    io::BufRead,
    time::{Duration, Instant},
};

use ostrakon::{
    AskError, Epoch, GroupName, Limits, MemberStatus, Node, NodeName, Reply,
    testing::{self, Assignment, Fixed, ShardMap, Version},
};
use tokio::sync::mpsc;

use crate::{
    desk::{Desk, DeskMessage, GATE},
    order::{MARK, Order, ROLE, Report, Role, group},
};

const TOPIC: &str = "news";

/// Is a node, if the environment says which.
pub(crate) fn run() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let role = serde_json::from_str(&role).unwrap();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(serve(role));
}

async fn serve(role: Role) {
    let limits = Limits::default()
        .heartbeat(role.silence / 10, role.silence)
        .redial(Duration::from_millis(5), Duration::from_millis(50));
    let node = Node::builder(role.name)
        .group(group())
        .host::<Desk>()
        .fixed(Fixed {
            limits,
            ..Fixed::plain()
        })
        .start()
        .await
        .unwrap();
    node.join_topic(TOPIC, Desk::default()).unwrap();
    // The harness has begun a line of its own.
    println!();
    report(0, &Report::Ready(testing::address(&node).to_string()));
    let mut orders = orders();
    while let Some((number, order)) = orders.recv().await {
        if matches!(order, Order::Leave) {
            // In the background, so that the gate can still be opened.
            let node = node.clone();
            tokio::spawn(async move {
                node.leave().await.unwrap();
                report(number, &Report::Done);
                std::process::exit(0);
            });
            continue;
        }
        let node = node.clone();
        tokio::spawn(async move { report(number, &obey(&node, order).await) });
    }
}

/// Orders and their numbers, until the parent is gone.
fn orders() -> mpsc::UnboundedReceiver<(u64, Order)> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let order = serde_json::from_str(&line).unwrap();
            if sender.send(order).is_err() {
                return;
            }
        }
    });
    receiver
}

fn report(number: u64, report: &Report) {
    let line = serde_json::to_string(&(number, report)).unwrap();
    println!("{MARK}{line}");
}

async fn obey(node: &Node, order: Order) -> Report {
    let desk = |id: &str| node.entity::<Desk>(id);
    match order {
        Order::Introduce { peer, address } => {
            testing::introduce(node, &peer, &address);
            Report::Done
        }
        Order::Adopt { owners } => {
            testing::adopt(node, &map(&owners)).await;
            Report::Done
        }
        Order::Ask {
            desk: id,
            entry,
            within,
        } => number(desk(&id).within(within).add(entry).await),
        Order::KeepAsking { desk: id, time } => keep_asking(node, &id, time).await,
        Order::Tell { desk: id, entries } => tell(node, &id, entries).await,
        Order::Entries { desk: id } => numbers(desk(&id).entries().await),
        Order::Wait { desk: id, within } => number(desk(&id).within(within).wait().await),
        Order::GateReached { count } => {
            GATE.reached_by(count).await;
            Report::Done
        }
        Order::OpenGate => {
            GATE.open();
            Report::Done
        }
        Order::Stream { desk: id, to } => stream(node, &id, to).await,
        Order::TellTopic { entry } => tell_topic(node, entry).await,
        Order::AskTopic => ask_topic(node).await,
        Order::See { peer, status } => see(node, &peer, status.into()).await,
        Order::Leave => unreachable!("handled before"),
    }
}

fn map(owners: &[String]) -> ShardMap {
    let group = group();
    let mut map = ShardMap::unowned(Version::new(1), [&group]);
    for shard in group.count.iter() {
        let owner = NodeName::new(&owners[shard.index() % owners.len()]).unwrap();
        let epoch = Epoch::new(1);
        map = map.with(
            &GroupName::default(),
            shard,
            Some(Assignment { owner, epoch }),
        );
    }
    map
}

fn number(asked: Result<u64, AskError>) -> Report {
    asked.map_or_else(failed, Report::Number)
}

fn numbers(asked: Result<Vec<u64>, AskError>) -> Report {
    asked.map_or_else(failed, Report::Numbers)
}

fn failed(error: AskError) -> Report {
    Report::Failed(error.outcome().into(), error.to_string())
}

async fn keep_asking(node: &Node, id: &str, time: Duration) -> Report {
    let desk = node.entity::<Desk>(id);
    let (began, mut count, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while began.elapsed() < time {
        let asked = Instant::now();
        if let Err(error) = desk.add(count).await {
            return failed(error);
        }
        count += 1;
        slowest = slowest.max(asked.elapsed());
    }
    Report::Numbers(vec![count, slowest.as_millis() as u64])
}

async fn tell(node: &Node, id: &str, entries: Vec<u64>) -> Report {
    let desk = node.entity::<Desk>(id);
    for entry in entries {
        desk.tell().add(entry).await.unwrap();
    }
    Report::Done
}

async fn stream(node: &Node, id: &str, to: u64) -> Report {
    let mut items = match node.entity::<Desk>(id).numbers(to).await {
        Ok(items) => items,
        Err(error) => return failed(error),
    };
    let mut read = Vec::new();
    while let Some(item) = items.next().await {
        read.push(item.unwrap());
    }
    Report::Numbers(read)
}

async fn tell_topic(node: &Node, entry: u64) -> Report {
    let topic = node.topic::<Desk>(TOPIC);
    let told = topic.tell(|| DeskMessage::Add {
        entry,
        reply: Reply::ignored(),
    });
    for (_, told) in told.await {
        told.unwrap();
    }
    Report::Done
}

async fn ask_topic(node: &Node) -> Report {
    let topic = node.topic::<Desk>(TOPIC);
    let asked = topic.ask(|reply| DeskMessage::Add { entry: 0, reply });
    let answers = asked.await.into_iter();
    Report::PerNode(
        answers
            .map(|(name, answer)| (name.to_string(), answer.unwrap()))
            .collect(),
    )
}

async fn see(node: &Node, peer: &str, status: MemberStatus) -> Report {
    let mut changes = node.subscribe_topology();
    loop {
        let snapshot = changes.next().await.unwrap();
        let mut members = snapshot.members.iter();
        if members.any(|member| member.name.as_str() == peer && member.status == status) {
            return Report::Done;
        }
    }
}
