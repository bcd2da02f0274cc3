//! Actors that are found by key on other nodes.

use futures_util::FutureExt;
use ostrakon::{
    AskError, Context, Entity, EntityRef, Failure, InvalidId, Limits, Listing, LookupError, Node,
    TellError,
    testing::{self, Fixed},
};
use tokio::time::timeout;

use crate::{
    cluster::{Cluster, SOON, builder},
    ledger::{Ledger, LedgerRef},
};

const KEY: &str = "ledgers";

/// Has two nodes connected: in a cluster of this kind they are there for each other from then on.
async fn greet(from: &Node, to: &Node) {
    testing::introduce(from, to.name().as_str(), &testing::address(to).to_string());
    let nobody = from.lookup::<Ledger>("nobody").on(to.name()).unwrap();
    let answered = async {
        // A connection to an earlier run may have to be lost first.
        while !matches!(
            nobody.add(1).await,
            Err(AskError::NotSent(TellError::NoSuchActor { .. }))
        ) {}
    };
    timeout(SOON, answered).await.unwrap();
}

async fn connected(size: usize) -> Cluster {
    let cluster = Cluster::of(size).await;
    for (n, node) in cluster.nodes.iter().enumerate() {
        for other in &cluster.nodes[n + 1..] {
            greet(node, other).await;
        }
    }
    cluster
}

fn enter(node: &Node, key: &str, actor: &str) -> LedgerRef {
    let spawned = node.spawn(actor, Ledger::default()).unwrap();
    node.receptionist().register::<Ledger>(key, actor).unwrap();
    spawned
}

/// Which actors these are, by their own word: `node/actor`.
async fn who(ledgers: &[LedgerRef]) -> Vec<String> {
    let mut all = Vec::new();
    for ledger in ledgers {
        let node = timeout(SOON, ledger.node()).await.unwrap().unwrap();
        all.push(format!("{node}/{}", ledger.as_ref().id().unwrap()));
    }
    all
}

/// Waits for a listing of so many.
async fn listed(listing: &mut Listing<Ledger>, count: usize) -> Vec<LedgerRef> {
    let mut last = 0;
    let wanted = async {
        loop {
            let found = listing.next().await.unwrap();
            last = found.len();
            if last == count {
                return found;
            }
        }
    };
    let found = timeout(SOON, wanted).await;
    found.unwrap_or_else(|_| panic!("{last} are listed instead of {count}"))
}

#[tokio::test]
async fn an_actor_is_found_by_all_nodes_and_answers_them() {
    let cluster = connected(3).await;
    let listings = cluster
        .nodes
        .iter()
        .map(|node| node.receptionist().subscribe::<Ledger>(KEY));
    let mut listings: Vec<_> = listings.collect();
    for listing in &mut listings {
        assert_eq!(listing.next().await.unwrap().len(), 0, "at once");
    }
    enter(&cluster.nodes[1], KEY, "tally");
    for (node, listing) in cluster.nodes.iter().zip(&mut listings) {
        let found = listed(listing, 1).await;
        assert_eq!(who(&found).await, ["node-2/tally"]);
        let found = node.receptionist().find::<Ledger>(KEY);
        assert_eq!(who(&found).await, ["node-2/tally"]);
        assert!(node.receptionist().find::<Ledger>("other").is_empty());
    }
    cluster.leave().await;
}

#[tokio::test]
async fn listings_have_the_same_order_on_all_nodes() {
    let cluster = connected(3).await;
    for (node, actor) in [(2, "a"), (0, "z"), (0, "b"), (1, "m")] {
        enter(&cluster.nodes[node], KEY, actor);
    }
    for node in &cluster.nodes {
        let mut listing = node.receptionist().subscribe::<Ledger>(KEY);
        let found = listed(&mut listing, 4).await;
        let order = ["node-1/b", "node-1/z", "node-2/m", "node-3/a"];
        assert_eq!(who(&found).await, order, "on {}", node.name());
    }
    cluster.leave().await;
}

#[tokio::test]
async fn what_is_taken_out_on_its_node_goes_on_all() {
    let cluster = connected(2).await;
    let [first, second] = &cluster.nodes[..] else {
        unreachable!("two nodes")
    };
    let mut listing = first.receptionist().subscribe::<Ledger>(KEY);
    let tally = enter(second, KEY, "tally");
    enter(second, KEY, "other");
    listed(&mut listing, 2).await;
    let desk = second.receptionist();
    assert_eq!(desk.deregister::<Ledger>(KEY, "tally"), Ok(true));
    assert_eq!(who(&listed(&mut listing, 1).await).await, ["node-2/other"]);
    assert_eq!(tally.entries().await, Ok(Vec::new()), "it runs on");
    // Only its own node takes an actor out.
    let elsewhere = first.receptionist().deregister::<Ledger>(KEY, "other");
    assert_eq!(elsewhere, Ok(false));
    cluster.leave().await;
}

#[tokio::test]
async fn an_actor_that_ends_is_not_found_by_other_nodes() {
    let cluster = connected(2).await;
    let mut listing = cluster.nodes[0].receptionist().subscribe::<Ledger>(KEY);
    enter(&cluster.nodes[1], KEY, "tally");
    let found = listed(&mut listing, 1).await;
    assert!(timeout(SOON, found[0].fail()).await.unwrap().is_err());
    listed(&mut listing, 0).await;
    cluster.leave().await;
}

#[tokio::test]
async fn the_actors_of_a_node_that_leaves_or_dies_are_not_found() {
    let cluster = connected(3).await;
    let mut listing = cluster.nodes[0].receptionist().subscribe::<Ledger>(KEY);
    for node in &cluster.nodes {
        enter(node, KEY, "tally");
    }
    listed(&mut listing, 3).await;
    let mut nodes = cluster.nodes;
    nodes.remove(1).leave().await.unwrap();
    let found = listed(&mut listing, 2).await;
    assert_eq!(who(&found).await, ["node-1/tally", "node-3/tally"]);
    // Without a word, as when its process is killed.
    drop(nodes.pop());
    let found = listed(&mut listing, 1).await;
    assert_eq!(who(&found).await, ["node-1/tally"]);
    nodes[0].leave().await.unwrap();
}

#[tokio::test]
async fn a_node_that_comes_later_learns_what_is_there_and_tells_what_it_has() {
    let cluster = connected(2).await;
    for node in &cluster.nodes {
        enter(node, KEY, "tally");
    }
    let late = builder("node-3").fixed(Fixed::plain());
    let late = late.start().await.unwrap();
    enter(&late, KEY, "late");
    let mut seen_late = late.receptionist().subscribe::<Ledger>(KEY);
    let mut seen_first = cluster.nodes[0].receptionist().subscribe::<Ledger>(KEY);
    listed(&mut seen_late, 1).await;
    for node in &cluster.nodes {
        greet(&late, node).await;
    }
    let all = ["node-1/tally", "node-2/tally", "node-3/late"];
    assert_eq!(who(&listed(&mut seen_late, 3).await).await, all);
    assert_eq!(who(&listed(&mut seen_first, 3).await).await, all);
    late.leave().await.unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn a_node_that_comes_back_is_found_with_what_it_has_now() {
    let cluster = connected(2).await;
    let mut listing = cluster.nodes[0].receptionist().subscribe::<Ledger>(KEY);
    enter(&cluster.nodes[1], KEY, "before");
    listed(&mut listing, 1).await;
    let mut nodes = cluster.nodes;
    drop(nodes.pop());
    let again = builder("node-2").fixed(Fixed::plain());
    let again = again.start().await.unwrap();
    enter(&again, KEY, "after-1");
    enter(&again, KEY, "after-2");
    greet(&nodes[0], &again).await;
    let found = listed(&mut listing, 2).await;
    assert_eq!(who(&found).await, ["node-2/after-1", "node-2/after-2"]);
    again.leave().await.unwrap();
    nodes[0].leave().await.unwrap();
}

#[tokio::test]
async fn a_listing_comes_only_when_something_under_its_key_has_changed() {
    let cluster = connected(2).await;
    let desk = cluster.nodes[0].receptionist();
    let mut listing = desk.subscribe::<Ledger>(KEY);
    let mut other = desk.subscribe::<Ledger>("other");
    enter(&cluster.nodes[1], KEY, "tally");
    listed(&mut listing, 1).await;
    enter(&cluster.nodes[1], "other", "another");
    listed(&mut other, 1).await;
    assert!(listing.next().now_or_never().is_none());
    cluster.leave().await;
}

/// An actor of another kind than the ledgers.
struct Stamp;

impl Entity for Stamp {
    const KIND: &'static str = "stamp";
    type Message = u8;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, _: u8, _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::test]
async fn actors_of_other_kinds_under_the_same_key_are_apart() {
    let cluster = connected(2).await;
    let [first, second] = &cluster.nodes[..] else {
        unreachable!("two nodes")
    };
    let _ = second.spawn("stamp", Stamp).unwrap();
    let desk = second.receptionist();
    desk.register::<Stamp>(KEY, "stamp").unwrap();
    enter(second, KEY, "tally");
    let mut listing = first.receptionist().subscribe::<Ledger>(KEY);
    let found = listed(&mut listing, 1).await;
    assert_eq!(who(&found).await, ["node-2/tally"]);
    assert_eq!(first.receptionist().find::<Stamp>(KEY).len(), 1);
    cluster.leave().await;
}

#[tokio::test]
async fn a_book_is_full_by_number_and_by_size_and_travels_when_it_is() {
    let start = async |name| {
        let limits = Limits::default().message(64 * 1024);
        let fixed = Fixed {
            limits,
            ..Fixed::plain()
        };
        builder(name).fixed(fixed).start().await.unwrap()
    };
    let (first, second) = (start("node-1").await, start("node-2").await);
    greet(&first, &second).await;
    let mut listing = first.receptionist().subscribe::<Ledger>(KEY);
    let desk = second.receptionist();
    for n in 0..1024 {
        enter(&second, KEY, &format!("tally-{n}"));
    }
    let _ = second.spawn("more", Ledger::default()).unwrap();
    let full = desk.register::<Ledger>(KEY, "more").unwrap_err();
    assert!(matches!(full, LookupError::Full { .. }), "{full}");
    assert_eq!(desk.register::<Ledger>(KEY, "tally-7"), Ok(()), "it is in");
    listed(&mut listing, 1024).await;

    for n in 0..1024 {
        let name = format!("tally-{n}");
        assert_eq!(desk.deregister::<Ledger>(KEY, &name), Ok(true));
    }
    desk.register::<Ledger>(KEY, "more").unwrap();
    listed(&mut listing, 1).await;
    let mut long = first.receptionist().subscribe::<Ledger>(&"k".repeat(256));
    let mut entered = 0;
    let full = loop {
        let name = format!("tally-{entered}");
        if let Err(full) = desk.register::<Ledger>(&"k".repeat(256), &name) {
            break full;
        }
        entered += 1;
    };
    assert!(matches!(full, LookupError::Full { .. }), "{full}");
    assert!((200..300).contains(&entered), "{entered} are 63 KiB");
    listed(&mut long, entered).await;
    first.leave().await.unwrap();
    second.leave().await.unwrap();
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused() {
    let cluster = Cluster::of(1).await;
    let desk = cluster.nodes[0].receptionist();
    let _ = cluster.nodes[0].spawn("tally", Ledger::default()).unwrap();
    let longest = "k".repeat(256);
    assert_eq!(desk.register::<Ledger>(&longest, "tally"), Ok(()));
    let error = desk.register::<Ledger>(&"k".repeat(257), "tally");
    let too_long = LookupError::InvalidName(InvalidId::TooLong {
        what: "receptionist's key",
        len: 257,
        max: 256,
    });
    assert_eq!(error, Err(too_long));
    cluster.leave().await;
}
