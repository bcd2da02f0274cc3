//! Plain actors, topics, the receptionist, singletons and the topology, on one node.

use std::{sync::Arc, time::Duration};

use ostrakon::{
    AskError, Hosting, LookupError, MemberStatus, Node, NodeName, Reply, SpawnError, TellError,
};

use crate::probe::{Do, Probe, World, probe, sum};

#[derive(Default)]
struct Greeter {
    greeted: u32,
}

#[derive(serde::Serialize, serde::Deserialize)]
enum Greet {
    Hello(String, Reply<String>),
    Count(Reply<u32>),
    Bye,
    Crash,
}

impl ostrakon::Entity for Greeter {
    const KIND: &'static str = "greeter";
    type Message = Greet;
    type Ref = ostrakon::EntityRef<Self>;

    async fn handle(
        &mut self,
        message: Greet,
        ctx: &mut ostrakon::Context<Self>,
    ) -> Result<(), ostrakon::Failure> {
        match message {
            Greet::Hello(name, reply) => {
                self.greeted += 1;
                reply.send(format!("hello {name}, I am {}", ctx.id()));
            }
            Greet::Count(reply) => drop(reply.send(self.greeted)),
            Greet::Bye => ctx.stop(),
            Greet::Crash => panic!("as told"),
        }
        Ok(())
    }
}

async fn node() -> Node {
    Node::builder("node-1").start().await.unwrap()
}

/// Waits until the actor's end has been noticed.
async fn gone(node: &Node, name: &str) {
    while node.lookup::<Greeter>(name).here().is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_actor_is_found_by_its_name_on_its_node() {
    let node = node().await;
    let spawned = node.spawn("host", Greeter::default()).unwrap();
    spawned.ask(|r| Greet::Hello("A".into(), r)).await.unwrap();
    let found = node.lookup::<Greeter>("host").on("node-1").unwrap();
    let said = found.ask(|r| Greet::Hello("B".into(), r)).await.unwrap();
    assert_eq!(said, "hello B, I am host");
    let here = node.lookup::<Greeter>("host").here().unwrap();
    assert_eq!(here.ask(Greet::Count).await.unwrap(), 2);
}

#[tokio::test]
async fn a_name_is_taken_until_its_actor_stops() {
    let node = node().await;
    let first = node.spawn("host", Greeter::default()).unwrap();
    let refused = node.spawn("host", Greeter::default()).unwrap_err();
    assert!(matches!(refused, SpawnError::NameTaken { .. }), "{refused}");
    first.tell(Greet::Bye).await.unwrap();
    gone(&node, "host").await;
    let refused = first.tell(Greet::Bye).await.unwrap_err();
    assert!(matches!(refused, TellError::Stopped { .. }), "{refused}");
    node.spawn("host", Greeter::default()).unwrap();
    assert_eq!(
        first.ask(Greet::Count).await.unwrap(),
        0,
        "the ref leads to the name"
    );
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    node.spawn("host", Greeter::default()).unwrap();
    let missing = node.lookup::<Greeter>("nobody").here().unwrap_err();
    assert!(
        matches!(missing, LookupError::NoSuchActor { .. }),
        "{missing}"
    );
    let other = node.lookup::<Probe>("host").here().unwrap_err();
    assert!(matches!(other, LookupError::OtherType { .. }), "{other}");
    let elsewhere = node.lookup::<Greeter>("host").on("node-2").unwrap_err();
    assert!(
        matches!(elsewhere, LookupError::NoSuchNode { .. }),
        "{elsewhere}"
    );
    assert!(node.spawn("", Greeter::default()).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_failure_ends_an_actor_and_those_who_wait_are_told() {
    let node = node().await;
    let actor = node.spawn("host", Greeter::default()).unwrap();
    actor.tell(Greet::Crash).await.unwrap();
    let error = actor.ask(Greet::Count).await.unwrap_err();
    assert!(
        matches!(error, AskError::NotSent(TellError::Stopped { .. })),
        "{error}"
    );
    gone(&node, "host").await;
    node.leave().await.unwrap();
    let refused = node.spawn("host", Greeter::default()).unwrap_err();
    assert_eq!(refused, SpawnError::NodeLeft);
}

#[tokio::test]
async fn a_topic_reaches_the_receiver_of_each_node_and_collects_an_answer_per_node() {
    let node = node().await;
    let topic = node.topic::<Greeter>("news");
    assert!(
        topic.ask(Greet::Count).await.is_empty(),
        "nobody listens yet"
    );
    node.join_topic("news", Greeter::default()).unwrap();
    let told = topic
        .tell(|| Greet::Hello("all".into(), Reply::ignored()))
        .await;
    let me = NodeName::new("node-1").unwrap();
    assert_eq!(told.get(&me), Some(&Ok(())));
    let counted = topic.ask(Greet::Count).await;
    assert_eq!(counted.into_iter().collect::<Vec<_>>(), [(me, Ok(1))]);
    assert!(
        node.join_topic("news", Greeter::default()).is_err(),
        "one receiver per node"
    );
}

#[tokio::test]
async fn the_receptionist_lists_actors_until_they_leave_or_end() {
    let node = node().await;
    let desk = node.receptionist();
    let mut listing = desk.subscribe::<Greeter>("greeters");
    assert_eq!(listing.next().await.unwrap().len(), 0, "a listing at once");
    for name in ["one", "two", "three"] {
        node.spawn(name, Greeter::default()).unwrap();
        desk.register::<Greeter>("greeters", name).unwrap();
        desk.register::<Greeter>("others", name).unwrap();
    }
    assert_eq!(listing.next().await.unwrap().len(), 3);
    assert_eq!(desk.deregister::<Greeter>("greeters", "one"), Ok(true));
    assert_eq!(desk.deregister::<Greeter>("greeters", "one"), Ok(false));
    assert_eq!(listing.next().await.unwrap().len(), 2);
    desk.find::<Greeter>("greeters")[0]
        .tell(Greet::Bye)
        .await
        .unwrap();
    assert_eq!(
        listing.next().await.unwrap().len(),
        1,
        "its end took it out"
    );
    assert_eq!(desk.find::<Greeter>("others").len(), 2);
    assert_eq!(desk.find::<Greeter>("nothing").len(), 0);
    let other = desk.register::<Probe>("greeters", "two").unwrap_err();
    assert!(matches!(other, LookupError::OtherType { .. }), "{other}");
    let missing = desk.register::<Greeter>("greeters", "nobody").unwrap_err();
    assert!(
        matches!(missing, LookupError::NoSuchActor { .. }),
        "{missing}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_singleton_runs_from_the_start_and_comes_back_after_every_end() {
    let world = World::new();
    let builder = world.builder(Hosting::default().idle_after(Duration::from_secs(1)));
    let node = builder.singleton::<Probe>("leader").start().await.unwrap();
    world.seen("leader: started", 1).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        world.count("leader: dropped"),
        0,
        "idleness does not end it"
    );
    let leader = probe(&node, "leader");
    leader.tell(Do::Stop).await.unwrap();
    world.seen("leader: started", 2).await;
    assert!(leader.ask(Do::Panic).await.is_err());
    world.seen("leader: started", 3).await;
    assert_eq!(sum(&leader).await.unwrap(), 0);
    node.leave().await.unwrap();
    assert_eq!(world.count("leader: dropped"), 3);
}

#[tokio::test]
async fn the_topology_names_this_node_and_its_leaving() {
    let node = node().await;
    let mut changes = node.subscribe_topology();
    let first = changes.next().await.unwrap();
    assert_eq!(first, node.topology());
    assert_eq!(first.members.len(), 1);
    assert_eq!(first.members[0].status, MemberStatus::Up);
    node.leave().await.unwrap();
    let last = changes.next().await.unwrap();
    assert_eq!(last.members[0].status, MemberStatus::Down);
    drop(node);
    assert_eq!(changes.next().await, None);
}

#[tokio::test]
async fn an_entity_is_located_where_its_shard_is() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let location = node.locate("probe", "alice").unwrap();
    assert_eq!(location.node, *node.name());
    assert_eq!(location, node.locate("probe", "alice").unwrap());
}

#[tokio::test]
async fn a_node_that_is_dropped_lets_go_of_its_entities() {
    let world = World::new();
    let node = world.node(Hosting::default().keep_alive()).await;
    sum(&probe(&node, "a")).await.unwrap();
    drop(node);
    world.seen("a: dropped", 1).await;
    // The factory, and so the node's whole memory, is gone as well.
    while Arc::strong_count(&world) > 1 {
        tokio::task::yield_now().await;
    }
}

/// Keeps a ref to itself: a circle that nobody outside can see.
struct Narcissus {
    me: Option<ostrakon::EntityRef<Self>>,
    _alive: Arc<()>,
}

impl ostrakon::Entity for Narcissus {
    const KIND: &'static str = "narcissus";
    type Message = Reply<()>;
    type Ref = ostrakon::EntityRef<Self>;

    async fn handle(
        &mut self,
        reply: Reply<()>,
        ctx: &mut ostrakon::Context<Self>,
    ) -> Result<(), ostrakon::Failure> {
        self.me = Some(ctx.me());
        reply.send(());
        Ok(())
    }
}

#[tokio::test]
async fn an_entity_that_holds_a_ref_to_itself_goes_with_its_node() {
    let alive = Arc::new(());
    let mine = Arc::clone(&alive);
    let builder = Node::builder("n").host_with(Hosting::default(), move |_| Narcissus {
        me: None,
        _alive: Arc::clone(&mine),
    });
    let node = builder.start().await.unwrap();
    let entity = node.entity::<Narcissus>("a");
    entity.ask(|reply| reply).await.unwrap();
    drop(node);
    let refused = entity.ask(|reply| reply).await.unwrap_err();
    assert!(
        matches!(refused, AskError::NotSent(TellError::Stopped { .. })),
        "{refused}"
    );
    drop(entity);
    while Arc::strong_count(&alive) > 1 {
        tokio::task::yield_now().await;
    }
}
