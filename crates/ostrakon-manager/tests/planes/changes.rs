//! Nodes that end, leave and come.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ostrakon::{AskError, LookupError, Node, NodeName, TellError};
use tokio::sync::watch;

use crate::{
    actors::{listed, note},
    citizen::{Citizen, CitizenMessage, Mayor},
    cluster::{Cluster, SOON, until_up},
};

const ENTITIES: usize = 60;
/// How long to wait for those who will not answer.
const BRIEFLY: Duration = Duration::from_millis(500);

fn id(number: usize) -> String {
    format!("citizen-{number}")
}

/// Asks until there is an answer; what an end has cut off may fail.
async fn lives_on(node: &Node, id: &str) -> String {
    let began = Instant::now();
    loop {
        match node.entity::<Citizen>(id).node().await {
            Ok(place) => return place,
            Err(error) => assert!(began.elapsed() < SOON, "{id} does not answer: {error}"),
        }
    }
}

/// Each node has a receiver, and a clerk with the receptionist.
fn employ(cluster: &Cluster) {
    for node in &cluster.nodes {
        node.join_topic("news", Citizen::default()).unwrap();
        node.spawn("clerk", Citizen::default()).unwrap();
        let desk = node.receptionist();
        desk.register::<Citizen>("clerks", "clerk").unwrap();
    }
}

pub(crate) async fn what_a_lost_node_had_goes_on_elsewhere(mut cluster: Cluster) {
    employ(&cluster);
    let client = cluster.client().start().await.unwrap();
    let mut clerks = Vec::new();
    for node in &cluster.nodes {
        let mut listing = node.receptionist().subscribe::<Citizen>("clerks");
        listed(&mut listing, &cluster.names()).await;
        clerks.push(listing);
    }
    let mut lived_there = Vec::new();
    let mayor = cluster.nodes[0].entity::<Mayor>(&cluster.mayor);
    let lost_name = mayor.node().await.unwrap();
    for number in 0..ENTITIES {
        if lives_on(&cluster.nodes[0], &id(number)).await == lost_name {
            lived_there.push(id(number));
        }
    }
    assert!(!lived_there.is_empty());

    let lost = cluster.names().iter().position(|name| *name == lost_name);
    let lost = lost.unwrap();
    clerks.remove(lost);
    drop((cluster.nodes.remove(lost), mayor));
    let names = cluster.names();

    topic_reaches_the_others(&cluster.nodes[0], &names).await;
    for id in lived_there {
        for from in [&cluster.nodes[1], &client] {
            let place = lives_on(from, &id).await;
            assert!(names.contains(&place), "{place}");
        }
    }
    cluster.mayor_begins.knocked(2).await;
    let mayor = cluster.nodes[0].entity::<Mayor>(&cluster.mayor);
    assert!(names.contains(&mayor.node().await.unwrap()));
    let active = cluster.nodes.iter().map(|node| node.active("mayor"));
    assert_eq!(active.sum::<Result<usize, _>>(), Ok(1));
    for (node, clerks) in cluster.nodes.iter().zip(&mut clerks) {
        until_up(node, &names).await;
        listed(clerks, &names).await;
        let topic = node.topic::<Citizen>("news");
        let told = topic.tell(|| note(2)).await.into_keys();
        assert!(told.map(|name| name.to_string()).eq(names.clone()));
        cannot_be_reached(node, &lost_name).await;
    }
}

/// Also while it is not known yet that a node is lost.
async fn topic_reaches_the_others(from: &Node, others: &[String]) {
    let topic = from.topic::<Citizen>("news").within(BRIEFLY);
    topic.tell(|| note(1)).await;
    let mut answers = topic.ask(|reply| CitizenMessage::Notes { reply }).await;
    answers.retain(|name, _| others.iter().any(|other| other == name.as_str()));
    assert_eq!(answers.len(), others.len());
    assert!(answers.into_values().all(|notes| notes == Ok(vec![1])));
}

/// It is not known any more, or nobody answers there.
async fn cannot_be_reached(from: &Node, lost: &str) {
    let node = NodeName::new(lost).unwrap();
    match from.lookup::<Citizen>("clerk").on(lost) {
        Ok(clerk) => {
            let asked = clerk.within(BRIEFLY).notes().await;
            let unreachable = AskError::NotSent(TellError::Unreachable { node });
            assert_eq!(asked, Err(unreachable));
        }
        Err(error) => assert_eq!(error, LookupError::NoSuchNode { node }),
    }
}

/// Asks all entities again and again, until it is told to end; every ask must be answered. Says after each round how many there were.
async fn ask_on(node: Node, end: Arc<AtomicBool>, rounds: watch::Sender<u32>) {
    while !end.load(Ordering::Relaxed) {
        for number in 0..ENTITIES {
            let asked = node.entity::<Citizen>(id(number)).note(0).await;
            assert!(
                asked.is_ok(),
                "{} from {}: {asked:?}",
                id(number),
                node.name()
            );
        }
        rounds.send_modify(|rounds| *rounds += 1);
    }
}

pub(crate) async fn no_ask_fails_while_a_node_leaves(mut cluster: Cluster) {
    let leaving = cluster.nodes.remove(0);
    let end = Arc::new(AtomicBool::new(false));
    let mut asking = Vec::new();
    let client = cluster.client().start().await.unwrap();
    for node in cluster.nodes.iter().chain([&client]) {
        let (rounds, mut counted) = watch::channel(0);
        let task = tokio::spawn(ask_on(node.clone(), Arc::clone(&end), rounds));
        counted.wait_for(|rounds| *rounds >= 2).await.unwrap();
        asking.push((task, counted));
    }
    assert!(
        leaving.active("citizen").unwrap() > 0,
        "it has some to give"
    );
    leaving.leave().await.unwrap();
    assert_eq!(leaving.active("citizen"), Ok(0));
    let names = cluster.names();
    for node in &cluster.nodes {
        until_up(node, &names).await;
        for number in 0..ENTITIES {
            // Who has had an answer knows where it came from.
            let lives_on = node.entity::<Citizen>(id(number)).node().await;
            assert!(names.contains(&lives_on.unwrap()));
            let place = node.locate("citizen", id(number)).unwrap();
            assert_ne!(place.node, *leaving.name());
        }
    }
    drop(leaving);
    for (_, counted) in &mut asking {
        let before = *counted.borrow();
        counted
            .wait_for(|rounds| *rounds >= before + 2)
            .await
            .unwrap();
    }
    end.store(true, Ordering::Relaxed);
    for (task, _) in asking {
        task.await.unwrap();
    }
}

pub(crate) async fn a_node_that_joins_gets_shards(cluster: Cluster) {
    for number in 0..20 {
        lives_on(&cluster.nodes[0], &id(number)).await;
    }
    let joined = cluster.join().await;
    let mut names = cluster.names();
    names.push(joined.name().to_string());
    for node in &cluster.nodes {
        until_up(node, &names).await;
    }
    cluster.rebalance().await;
    let began = Instant::now();
    // Where shards get an owner when somebody wants one, those that nobody has wanted go to it; else it gets some of the others'.
    for number in 20.. {
        assert!(began.elapsed() < SOON, "it gets nothing");
        if lives_on(&cluster.nodes[1], &id(number % 1_000)).await == joined.name().as_str() {
            break;
        }
    }
    for number in 0..ENTITIES {
        until_agreed(&cluster.nodes[0], &joined, &id(number)).await;
    }
}

/// Two nodes see an entity at the same place, unless it is just moving.
async fn until_agreed(one: &Node, two: &Node, id: &str) {
    let began = Instant::now();
    while lives_on(one, id).await != lives_on(two, id).await {
        assert!(began.elapsed() < SOON, "{id} lives twice");
    }
}
