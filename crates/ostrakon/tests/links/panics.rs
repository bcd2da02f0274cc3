//! A user's type that panics while it is decoded or dropped harms nobody but its own message.

use ostrakon::{
    AskError, Context, Entity, EntityRef, Failure, Hosting, Outcome, Reply, testing::Fixed,
};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    cluster::{Cluster, SOON, builder},
    ledger::{Gate, Ledger},
};

/// Something that does not like to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Temper {
    Calm,
    PanicsWhenDecoded,
    PanicsWhenDropped,
}

#[derive(Debug, Serialize)]
struct Touchy {
    temper: Temper,
    /// Makes it large.
    weight: Vec<u8>,
    #[serde(skip)]
    has_arrived: bool,
}

impl Touchy {
    fn new(temper: Temper) -> Self {
        Self::of_weight(temper, 0)
    }

    fn of_weight(temper: Temper, weight: usize) -> Self {
        Self {
            temper,
            weight: vec![0; weight],
            has_arrived: false,
        }
    }
}

impl<'de> Deserialize<'de> for Touchy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Plain {
            temper: String,
            weight: Vec<u8>,
        }
        let Plain { temper, weight } = Plain::deserialize(deserializer)?;
        let temper = match temper.as_str() {
            "Calm" => Temper::Calm,
            "PanicsWhenDecoded" => panic!("do not touch"),
            "PanicsWhenDropped" => Temper::PanicsWhenDropped,
            other => return Err(de::Error::custom(other)),
        };
        Ok(Self {
            temper,
            weight,
            has_arrived: true,
        })
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        if self.has_arrived && self.temper == Temper::PanicsWhenDropped {
            panic!("do not drop");
        }
    }
}

/// Takes touchy things and gives them back.
#[derive(Default)]
struct Handler;

#[derive(Serialize, Deserialize)]
enum Message {
    Take(Touchy, Reply<usize>),
    Give(String, Reply<Touchy>),
    Wait(String, Reply<u64>),
}

impl Entity for Handler {
    const KIND: &'static str = "handler";
    type Message = Message;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, message: Message, _: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            Message::Take(touchy, reply) => {
                reply.send(touchy.weight.len());
            }
            Message::Give(temper, reply) => {
                let temper = match temper.as_str() {
                    "calm" => Temper::Calm,
                    _ => Temper::PanicsWhenDecoded,
                };
                reply.send(Touchy::new(temper));
            }
            Message::Wait(gate, reply) => {
                Gate::of(&gate).pass().await;
                reply.send(7);
            }
        }
        Ok(())
    }
}

/// Two nodes, and an entity of the second one as seen from the first.
async fn cluster(hosting: Hosting) -> (Cluster, EntityRef<Handler>) {
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2"] {
        let node = builder(name).host_as::<Handler>(hosting.clone());
        nodes.push(node.fixed(Fixed::plain()).start().await.unwrap());
    }
    let cluster = Cluster::connect(nodes).await;
    let entity = cluster.nodes[0].entity::<Handler>(cluster.id_on(1));
    (cluster, entity.within(SOON))
}

#[tokio::test]
async fn a_message_that_panics_while_it_is_decoded_is_not_executed() {
    let (cluster, entity) = cluster(Hosting::default()).await;
    for weight in [0, 100_000] {
        let touchy = Touchy::of_weight(Temper::PanicsWhenDecoded, weight);
        let refused = entity.ask(|reply| Message::Take(touchy, reply)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.outcome(), Outcome::NotExecuted, "{refused:?}");
        assert!(
            format!("{refused:?}").contains("panicked: do not touch"),
            "{refused:?}"
        );

        let calm = Touchy::of_weight(Temper::Calm, weight);
        let taken = entity.ask(|reply| Message::Take(calm, reply)).await;
        assert_eq!(taken.unwrap(), weight, "the entity goes on");
    }
    cluster.leave().await;
}

#[tokio::test]
async fn an_answer_that_panics_while_it_is_decoded_is_the_askers_error() {
    let (cluster, entity) = cluster(Hosting::default()).await;
    let neighbour = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let give = |temper: &str| {
        let temper = temper.to_owned();
        entity.ask(|reply| Message::Give(temper, reply))
    };
    // In one batch with others.
    let (bad, one, other) = tokio::join!(give("bad"), give("calm"), neighbour.add(1));
    let bad = bad.unwrap_err();
    assert!(matches!(&bad, AskError::BadReply(_)), "{bad:?}");
    assert_eq!(one.unwrap().temper, Temper::Calm);
    assert_eq!(other.unwrap(), 1);
    assert_eq!(give("calm").await.unwrap().temper, Temper::Calm);
    cluster.leave().await;
}

#[tokio::test]
async fn a_refused_message_that_panics_when_it_is_dropped_ends_the_connection_and_not_the_link() {
    let (cluster, entity) = cluster(Hosting::default().mailbox(1)).await;
    let gate = Gate::of("touchy");
    let wait = || entity.ask(|reply| Message::Wait("touchy".to_owned(), reply));
    let (running, queued, refused) = tokio::join!(wait(), wait(), async {
        gate.reached_by(1).await;
        let touchy = Touchy::new(Temper::PanicsWhenDropped);
        let refused = entity.ask(|reply| Message::Take(touchy, reply)).await;
        gate.open();
        refused
    });
    for lost in [running.map(drop), queued.map(drop), refused.map(drop)] {
        let lost = lost.unwrap_err();
        assert!(matches!(&lost, AskError::Lost { .. }), "{lost:?}");
    }
    let calm = Touchy::new(Temper::Calm);
    let taken = entity.ask(|reply| Message::Take(calm, reply)).await;
    assert_eq!(taken.unwrap(), 0, "there is another connection");
    cluster.leave().await;
}
