//! Bad input gets a clear error, and nothing is lost.

use std::collections::BTreeMap;

use ostrakon::{
    AskError, Codec, CodecError, Context, CustomHash, Entity, EntityRef, Failure, GroupName,
    Hosting, Node, Outcome, Reply, ShardCount, ShardGroup, ShardHash, StartError, TellError,
};
use serde::{Deserialize, Serialize};

use crate::probe::{Do, Probe, World, probe, sum};

#[tokio::test]
async fn an_empty_or_too_long_id_is_refused_by_every_verb() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    for id in ["", &"x".repeat(1025)] {
        let entity = probe(&node, id);
        assert_eq!(entity.id(), None);
        let told = entity.tell(Do::Add(1)).await.unwrap_err();
        assert!(matches!(told, TellError::InvalidId(_)), "{told}");
        let asked = sum(&entity).await.unwrap_err();
        assert_eq!(asked, AskError::NotSent(told));
        assert!(entity.stream(|r| Do::Numbers(1, r)).await.is_err());
        assert!(node.locate("probe", id).is_err());
    }
    let longest = "x".repeat(1024);
    assert_eq!(sum(&probe(&node, &longest)).await.unwrap(), 0);
}

#[tokio::test]
async fn a_kind_that_nobody_hosts_is_named_in_the_error() {
    let node = Node::builder("n").start().await.unwrap();
    let error = probe(&node, "a").tell(Do::Add(1)).await.unwrap_err();
    assert!(error.to_string().contains("`probe`"), "{error}");
    let error = node.tell_encoded("ghost", "a", vec![]).unwrap_err();
    assert!(error.to_string().contains("`ghost`"), "{error}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn an_encoded_message_is_delivered_and_a_wrong_one_refused() {
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let good = Codec::MessagePack.encode(&Do::Add(3)).unwrap();
    node.tell_encoded("probe", "a", good.clone()).unwrap();
    assert_eq!(sum(&probe(&node, "a")).await.unwrap(), 3);
    let mut cut = good.clone();
    cut.pop();
    let mut long = good;
    long.push(0);
    for wrong in [vec![], vec![0xc1], cut, long, b"{\"Add\":3}".to_vec()] {
        let refused = node.tell_encoded("probe", "a", wrong).unwrap_err();
        assert!(matches!(refused, TellError::Codec(_)), "{refused}");
    }
    assert_eq!(sum(&probe(&node, "a")).await.unwrap(), 3);
}

#[tokio::test]
async fn a_hash_function_that_answers_nonsense_is_an_error_and_not_a_hang() {
    let world = World::new();
    let hash = CustomHash::new("broken", |id, _| if id == "a" { 1 } else { 11 });
    let group = ShardGroup {
        count: ShardCount::new(10).unwrap(),
        hash: ShardHash::Custom(hash),
        ..ShardGroup::default()
    };
    let builder = world.builder(Hosting::default()).group(group.clone());
    let node = builder.start().await.unwrap();
    assert_eq!(sum(&probe(&node, "a")).await.unwrap(), 0);
    let error = sum(&probe(&node, "b")).await.unwrap_err();
    assert!(
        matches!(error, AskError::NotSent(TellError::NoShard(_))),
        "{error:?}"
    );
    let builder = world.builder(Hosting::default()).group(group);
    let refused = builder.singleton::<Probe>("b").start().await;
    assert!(matches!(refused, Err(StartError::Singleton(_))));
}

#[tokio::test]
async fn a_node_that_cannot_work_does_not_start() {
    let world = World::new();
    let start = |builder: ostrakon::NodeBuilder| async { builder.start().await.err().unwrap() };
    let nameless = start(Node::builder("")).await;
    assert!(matches!(nameless, StartError::InvalidName(_)), "{nameless}");
    let hosting = Hosting::default;
    let twice = world
        .builder(hosting())
        .host_with(hosting(), |_| -> Probe { unreachable!() });
    assert_eq!(start(twice).await, StartError::KindTwice { kind: "probe" });
    let group = GroupName::new("elsewhere").unwrap();
    let lost = world.builder(hosting().group(group.clone()));
    assert_eq!(
        start(lost).await,
        StartError::UnknownGroup {
            kind: "probe",
            group
        }
    );
    let alone = Node::builder("n").singleton::<Probe>("a");
    assert_eq!(
        start(alone).await,
        StartError::SingletonNotHosted { kind: "probe" }
    );
}

/// Types that do not survive their codec: a map with a key that JSON cannot write, and a value that reads back as an error.
#[derive(Default)]
struct Awkward;

#[derive(Serialize, Deserialize)]
enum AwkwardMessage {
    Unwritable(BTreeMap<(u8, u8), u8>),
    Unreadable(Fussy),
    BadAnswer(Reply<Fussy>),
    Fine(Reply<u8>),
}

#[derive(Serialize, Debug, PartialEq)]
struct Fussy(u8);

impl<'de> Deserialize<'de> for Fussy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = u8::deserialize(deserializer)?;
        Err(serde::de::Error::custom(format!("{value} is never right")))
    }
}

impl Entity for Awkward {
    const KIND: &'static str = "awkward";
    const CODEC: Codec = Codec::Json;
    type Message = AwkwardMessage;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, m: AwkwardMessage, _: &mut Context<Self>) -> Result<(), Failure> {
        match m {
            AwkwardMessage::Unwritable(_) | AwkwardMessage::Unreadable(_) => {}
            AwkwardMessage::BadAnswer(reply) => drop(reply.send(Fussy(1))),
            AwkwardMessage::Fine(reply) => drop(reply.send(1)),
        }
        Ok(())
    }
}

#[tokio::test]
async fn what_a_cluster_could_not_carry_shows_with_forced_serialization() {
    let local = Node::builder("n").host::<Awkward>().start().await.unwrap();
    let map = BTreeMap::from([((1, 2), 3)]);
    let entity = local.entity::<Awkward>("a");
    entity
        .tell(AwkwardMessage::Unwritable(map.clone()))
        .await
        .unwrap();
    assert_eq!(entity.ask(AwkwardMessage::BadAnswer).await, Ok(Fussy(1)));

    let builder = Node::builder("n").host::<Awkward>().force_serialization();
    let node = builder.start().await.unwrap();
    let entity = node.entity::<Awkward>("a");
    let told = entity
        .tell(AwkwardMessage::Unwritable(map))
        .await
        .unwrap_err();
    assert!(
        matches!(told, TellError::Codec(CodecError::Encode { .. })),
        "{told:?}"
    );
    let told = entity
        .tell(AwkwardMessage::Unreadable(Fussy(2)))
        .await
        .unwrap_err();
    assert!(
        matches!(told, TellError::Codec(CodecError::Decode { .. })),
        "{told:?}"
    );
    let asked = entity.ask(AwkwardMessage::BadAnswer).await.unwrap_err();
    assert!(matches!(asked, AskError::BadReply(_)), "{asked:?}");
    assert_eq!(asked.outcome(), Outcome::Executed);
    assert_eq!(
        entity.ask(AwkwardMessage::Fine).await,
        Ok(1),
        "it still works"
    );
}

#[tokio::test]
async fn a_reply_outside_a_message_cannot_be_encoded() {
    let refused = Codec::Json.encode(&Do::DropReply(Reply::ignored()));
    refused.expect("a reply to nobody is just that");
    let world = World::new();
    let node = world.node(Hosting::default()).await;
    let entity = probe(&node, "a");
    let kept = entity.ask::<i64>(|reply| {
        let error = Codec::Json.encode(&reply).unwrap_err();
        assert!(
            error.to_string().contains("inside a message")
                || format!("{error:?}").contains("inside a message"),
            "{error:?}"
        );
        Do::Sum(reply)
    });
    kept.await.unwrap();
}
