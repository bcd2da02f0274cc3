//! What is addressed to nodes instead of shards: topics, actors, the receptionist. And singletons.

use std::collections::BTreeMap;

use ostrakon::{
    AskError, CustomHash, GroupName, Hosting, Listing, LookupError, Node, NodeName, Reply,
    ShardCount, ShardGroup, ShardHash, StartError, TellError,
};
use tokio::time::timeout;

use crate::{
    citizen::{Citizen, CitizenMessage, CitizenRef, Ghost, Mayor},
    cluster::{Cluster, SOON},
};

pub(crate) fn note(note: u64) -> CitizenMessage {
    let reply = Reply::ignored();
    CitizenMessage::Note { note, reply }
}

/// Waits until a listing has the actors of exactly these nodes, each of which answers where it is.
pub(crate) async fn listed(listing: &mut Listing<Citizen>, wanted: &[String]) -> Vec<CitizenRef> {
    let seen = async {
        loop {
            let found = listing.next().await.unwrap();
            // Those that have just ended may be listed still.
            if found.len() != wanted.len() {
                continue;
            }
            let mut places = Vec::new();
            for actor in &found {
                places.extend(actor.node().await);
            }
            if places == wanted {
                return found;
            }
        }
    };
    let seen = timeout(SOON, seen).await;
    seen.unwrap_or_else(|_| panic!("{wanted:?} are not listed"))
}

pub(crate) async fn what_is_published_reaches_each_node_once(cluster: Cluster) {
    let names = cluster.names();
    let mut receivers = Vec::new();
    for node in &cluster.nodes {
        receivers.push(node.join_topic("news", Citizen::default()).unwrap());
    }
    for (number, node) in (0..).zip(&cluster.nodes) {
        let news = node.topic::<Citizen>("news");
        let told = news.tell(|| note(number)).await;
        assert!(told.values().all(Result::is_ok), "{told:?}");
        assert!(
            told.into_keys()
                .map(|name| name.to_string())
                .eq(names.clone())
        );
        // Behind what this node has told.
        let answers = news.ask(|reply| CitizenMessage::Notes { reply }).await;
        let expected: BTreeMap<_, _> = names
            .iter()
            .map(|name| (NodeName::new(name).unwrap(), Ok((0..=number).collect())))
            .collect();
        assert_eq!(answers, expected, "by {}", node.name());
    }
    let all: Vec<u64> = (0..).take(receivers.len()).collect();
    for receiver in receivers {
        assert_eq!(receiver.notes().await, Ok(all.clone()));
    }
}

pub(crate) async fn an_actor_is_found_by_name_and_node(cluster: Cluster) {
    for node in &cluster.nodes {
        node.spawn("clerk", Citizen::default()).unwrap();
    }
    let mut asked = 0;
    for node in &cluster.nodes {
        asked += 1;
        for there in cluster.names() {
            let clerk = node.lookup::<Citizen>("clerk").on(&there).unwrap();
            assert_eq!(clerk.node().await, Ok(there.clone()));
            assert_eq!(clerk.note(0).await, Ok(asked));
            no_actor(node.lookup::<Citizen>("nobody").on(&there)).await;
        }
        let nowhere = node.lookup::<Citizen>("clerk").on("nowhere").err();
        let expected = NodeName::new("nowhere").unwrap();
        assert_eq!(nowhere, Some(LookupError::NoSuchNode { node: expected }));
    }
}

/// On the own node one learns it at once, and of others when one asks.
async fn no_actor(found: Result<CitizenRef, LookupError>) {
    match found {
        Ok(there) => {
            let asked = there.notes().await.unwrap_err();
            let nobody = matches!(asked, AskError::NotSent(TellError::NoSuchActor { .. }));
            assert!(nobody, "{asked}");
        }
        Err(error) => assert!(matches!(error, LookupError::NoSuchActor { .. }), "{error}"),
    }
}

pub(crate) async fn the_receptionist_lists_actors_of_all_nodes(cluster: Cluster) {
    let names = cluster.names();
    let listings = cluster.nodes.iter();
    let mut listings: Vec<_> = listings
        .map(|node| node.receptionist().subscribe::<Citizen>("clerks"))
        .collect();
    for node in &cluster.nodes {
        node.spawn("clerk", Citizen::default()).unwrap();
        let desk = node.receptionist();
        desk.register::<Citizen>("clerks", "clerk").unwrap();
    }
    for (node, listing) in cluster.nodes.iter().zip(&mut listings) {
        listed(listing, &names).await;
        let found = node.receptionist().find::<Citizen>("clerks");
        assert_eq!(found.len(), names.len());
        assert!(node.receptionist().find::<Citizen>("others").is_empty());
    }
    let (last, others) = cluster.nodes.split_last().unwrap();
    let taken_out = last.receptionist().deregister::<Citizen>("clerks", "clerk");
    assert_eq!(taken_out, Ok(true));
    for listing in &mut listings {
        listed(listing, &names[..others.len()]).await;
    }
}

pub(crate) async fn a_singleton_runs_once_unasked(cluster: Cluster) {
    cluster.mayor_begins.knocked(1).await;
    let active = cluster.nodes.iter().map(|node| node.active("mayor"));
    assert_eq!(active.sum::<Result<usize, _>>(), Ok(1));
    let mut places = Vec::new();
    for node in &cluster.nodes {
        let mayor = node.entity::<Mayor>(&cluster.mayor);
        places.push(mayor.node().await.unwrap());
    }
    places.dedup();
    assert_eq!(places.len(), 1, "{places:?}");
    assert_eq!(cluster.mayor_begins.knocks(), 1, "it began once");
}

pub(crate) async fn a_singleton_without_a_shard_keeps_its_node_from_starting(cluster: Cluster) {
    let group = ShardGroup {
        name: GroupName::new("odd").unwrap(),
        count: ShardCount::new(10).unwrap(),
        hash: ShardHash::Custom(CustomHash::new("odd", |_, count| count.get() + 1)),
    };
    let hosting = Hosting::default().group(group.name.clone());
    let node = Node::builder("odd")
        .group(group)
        .host_as::<Ghost>(hosting)
        .singleton::<Ghost>("a");
    let refused = cluster.newcomer(node).start().await.unwrap_err();
    let no_shard = matches!(refused, StartError::Singleton(TellError::NoShard(_)));
    assert!(no_shard, "{refused}");
}
