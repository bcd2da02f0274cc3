//! The receptionist: actors found by what they offer.

use std::time::Duration;

use ostrakon::{Context, Failure, Listing, LookupError, Node, entity};
use tokio::time::timeout;

use crate::{
    Setup,
    counter::{Counter, CounterRef},
};

twice! {
    a_registered_actor_is_found_under_its_key,
    a_subscriber_gets_a_listing_at_once_and_after_each_change,
    a_deregistered_actor_is_not_found_any_more,
    an_actor_that_stops_is_taken_out,
    an_actor_that_fails_is_taken_out,
    an_actor_can_register_itself_as_it_starts,
}

const KEY: &str = "tallies";

async fn solo(setup: Setup) -> (Node, CounterRef) {
    let node = setup(Node::builder("solo")).start().await.unwrap();
    let actor = node.spawn("tally", Counter::default()).unwrap();
    (node, actor)
}

async fn listed(listing: &mut Listing<Counter>) -> usize {
    listing.next().await.unwrap().len()
}

// Casty, receptionist: after a registration the key finds one instance, which answers; a key without one finds none.
async fn a_registered_actor_is_found_under_its_key(setup: Setup) {
    let (node, actor) = solo(setup).await;
    let desk = node.receptionist();
    desk.register::<Counter>(KEY, "tally").unwrap();
    actor.add(3).await.unwrap();
    let found = desk.find::<Counter>(KEY);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].get().await, Ok(3));
    assert!(desk.find::<Counter>("no such key").is_empty());
    let missing = desk.register::<Counter>(KEY, "nobody").unwrap_err();
    assert!(
        matches!(missing, LookupError::NoSuchActor { .. }),
        "{missing}"
    );
    node.leave().await.unwrap();
}

// Casty, receptionist: a subscriber gets an empty listing at once and a new one after a registration.
async fn a_subscriber_gets_a_listing_at_once_and_after_each_change(setup: Setup) {
    let (node, _) = solo(setup).await;
    let desk = node.receptionist();
    let mut listing = desk.subscribe::<Counter>(KEY);
    assert_eq!(listed(&mut listing).await, 0);
    desk.register::<Counter>("another key", "tally").unwrap();
    let quiet = timeout(Duration::from_secs(60), listing.next()).await;
    assert!(quiet.is_err(), "another key is no change of this one");
    desk.register::<Counter>(KEY, "tally").unwrap();
    assert_eq!(listed(&mut listing).await, 1);
    let mut late = desk.subscribe::<Counter>(KEY);
    assert_eq!(listed(&mut late).await, 1);
    node.leave().await.unwrap();
}

// Casty, receptionist: deregistering takes the instance out for those who find and for those who have subscribed.
async fn a_deregistered_actor_is_not_found_any_more(setup: Setup) {
    let (node, actor) = solo(setup).await;
    let desk = node.receptionist();
    desk.register::<Counter>(KEY, "tally").unwrap();
    let mut listing = desk.subscribe::<Counter>(KEY);
    assert_eq!(listed(&mut listing).await, 1);
    assert_eq!(desk.deregister::<Counter>(KEY, "tally"), Ok(true));
    assert_eq!(listed(&mut listing).await, 0);
    assert!(desk.find::<Counter>(KEY).is_empty());
    assert_eq!(desk.deregister::<Counter>(KEY, "tally"), Ok(false));
    assert_eq!(actor.get().await, Ok(0), "it runs on");
    node.leave().await.unwrap();
}

// Casty, receptionist: an actor that stops is deregistered without having asked for it.
async fn an_actor_that_stops_is_taken_out(setup: Setup) {
    let (node, actor) = solo(setup).await;
    let desk = node.receptionist();
    desk.register::<Counter>(KEY, "tally").unwrap();
    let mut listing = desk.subscribe::<Counter>(KEY);
    assert_eq!(listed(&mut listing).await, 1);
    actor.retire().await.unwrap();
    assert_eq!(listed(&mut listing).await, 0);
    assert!(desk.find::<Counter>(KEY).is_empty());
    node.leave().await.unwrap();
}

// Casty, receptionist with supervision: what a failure ends is not listed either.
async fn an_actor_that_fails_is_taken_out(setup: Setup) {
    let (node, actor) = solo(setup).await;
    let desk = node.receptionist();
    desk.register::<Counter>(KEY, "tally").unwrap();
    let mut listing = desk.subscribe::<Counter>(KEY);
    assert_eq!(listed(&mut listing).await, 1);
    actor.tell().crash().await.unwrap();
    assert_eq!(listed(&mut listing).await, 0);
    node.leave().await.unwrap();
}

/// Makes itself known.
struct Printer;

#[entity]
impl Printer {
    #[start]
    async fn advertise(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let node = ctx.node();
        node.receptionist()
            .register::<Self>("printers", ctx.id().as_str())?;
        Ok(())
    }

    async fn print(&mut self, text: String) -> usize {
        text.len()
    }

    async fn retire(&mut self, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

// Casty, discoverable behaviours: they are registered as they start and deregistered as they stop.
async fn an_actor_can_register_itself_as_it_starts(setup: Setup) {
    let (node, _) = solo(setup).await;
    let mut printers = node.receptionist().subscribe::<Printer>("printers");
    assert_eq!(printers.next().await.unwrap().len(), 0);
    node.spawn("laser", Printer).unwrap();
    let found = printers.next().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].print("page".into()).await, Ok(4));
    found[0].retire().await.unwrap();
    assert_eq!(printers.next().await.unwrap().len(), 0);
    node.leave().await.unwrap();
}
