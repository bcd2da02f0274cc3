//! Telling and asking: who gets a message, what it changes, and what an asker learns when no answer comes.

use std::time::Duration;

use ostrakon::{AskError, Hosting, Node, Outcome, Reply, entity};
use tokio::time::Instant;

use crate::{
    Setup,
    counter::{Counter, CounterMessage, counters},
};

twice! {
    told_changes_are_seen_by_a_later_ask,
    the_first_message_makes_the_entity,
    every_id_is_an_account_of_its_own,
    a_sharded_counter_sums_up,
    ten_thousand_increments_are_all_counted,
    an_ask_that_is_not_answered_ends_at_its_deadline,
    an_answer_that_is_thrown_away_is_an_error_at_once,
    asks_in_flight_together_get_each_their_own_answer,
    a_reply_can_be_handed_on_to_another_entity,
}

// Shardcake, sharding suite: four sends to one counter and one to another leave 2 and 1.
async fn told_changes_are_seen_by_a_later_ask(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let (first, second) = (node.entity::<Counter>("c1"), node.entity::<Counter>("c2"));
    for step in [1, -1, 1, 1] {
        first.tell().add(step).await.unwrap();
    }
    second.tell().add(1).await.unwrap();
    assert_eq!(first.get().await, Ok(2));
    assert_eq!(second.get().await, Ok(1));
    node.leave().await.unwrap();
}

// Casty, shard region: the region makes an entity on its first message, and the second message meets the same one.
async fn the_first_message_makes_the_entity(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let counter = node.entity::<Counter>("a");
    assert_eq!(node.active("counter"), Ok(0), "a ref alone makes nothing");
    assert_eq!(counter.add(1).await, Ok(1));
    assert_eq!(node.active("counter"), Ok(1));
    assert_eq!(node.entity::<Counter>("a").add(1).await, Ok(2));
    assert_eq!(node.active("counter"), Ok(1));
    node.leave().await.unwrap();
}

// Casty, shard region and sharding integration: separate ids are separate actors; five accounts keep five balances.
async fn every_id_is_an_account_of_its_own(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let deposits: [(&str, &[i64]); 5] = [
        ("ann", &[100, 50]),
        ("bob", &[500]),
        ("cyd", &[]),
        ("dan", &[10, -30]),
        ("eve", &[1, 2, 3]),
    ];
    for (owner, amounts) in deposits {
        for amount in amounts {
            let account = node.entity::<Counter>(owner);
            account.tell().add(*amount).await.unwrap();
        }
    }
    let mut balances = Vec::new();
    for (owner, _) in deposits {
        balances.push(node.entity::<Counter>(owner).get().await.unwrap());
    }
    assert_eq!(balances, [150, 500, 0, -20, 6]);
    assert_eq!(node.active("counter"), Ok(5));
    node.leave().await.unwrap();
}

// Casty, cluster over TCP: on a single node, 5 and 3 sent to one sharded counter read as 8.
async fn a_sharded_counter_sums_up(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    for amount in [5, 3] {
        let counter = node.entity::<Counter>("hits");
        counter.tell().add(amount).await.unwrap();
    }
    assert_eq!(node.entity::<Counter>("hits").get().await, Ok(8));
    node.leave().await.unwrap();
}

// Shardcake, later suite: ten thousand increments sent in one go read as 10,000.
async fn ten_thousand_increments_are_all_counted(setup: Setup) {
    let node = counters(setup, Hosting::default()).await;
    let counter = node.entity::<Counter>("c1");
    for _ in 0..10_000 {
        // Nearly ten times what the mailbox holds: the sender must leave the entity time to work.
        counter.tell().add(1).await.unwrap();
    }
    assert_eq!(counter.get().await, Ok(10_000));
    node.leave().await.unwrap();
}

/// Takes asks and answers none of them by itself.
#[derive(Default)]
struct Clerk {
    kept: Vec<Reply<u32>>,
}

#[entity(kind = "clerk")]
impl Clerk {
    async fn keep(&mut self, answer: Reply<u32>) {
        self.kept.push(answer);
    }

    async fn throw_away(&mut self, answer: Reply<u32>) {
        drop(answer);
    }

    async fn kept(&mut self) -> usize {
        self.kept.len()
    }
}

async fn clerks(setup: Setup) -> Node {
    let builder = setup(Node::builder("solo").host::<Clerk>());
    builder.start().await.unwrap()
}

// Casty, cluster over TCP: an ask whose receiver never answers ends in a timeout.
async fn an_ask_that_is_not_answered_ends_at_its_deadline(setup: Setup) {
    let node = clerks(setup).await;
    let clerk = node.entity::<Clerk>("c");
    let patient = clerk.as_ref().clone().within(Duration::from_secs(2));
    let began = Instant::now();
    let keep = |answer| ClerkMessage::Keep {
        answer,
        reply: Reply::ignored(),
    };
    let error = patient.ask(keep).await.unwrap_err();
    let waited = began.elapsed();
    assert_eq!(error, AskError::TimedOut);
    assert!(
        (2_000..2_010).contains(&waited.as_millis()),
        "the deadline was 2 s: {waited:?}"
    );
    assert_eq!(clerk.kept().await, Ok(1), "it is not stuck");
    node.leave().await.unwrap();
}

// The same for a receiver that loses its only way to answer: the asker need not wait for the deadline.
async fn an_answer_that_is_thrown_away_is_an_error_at_once(setup: Setup) {
    let node = clerks(setup).await;
    let clerk = node.entity::<Clerk>("c");
    let began = Instant::now();
    let throw = |answer| ClerkMessage::ThrowAway {
        answer,
        reply: Reply::ignored(),
    };
    let error = clerk.as_ref().ask(throw).await.unwrap_err();
    assert_eq!(error, AskError::NoReply);
    assert_eq!(error.outcome(), Outcome::Executed);
    assert_eq!(began.elapsed(), Duration::ZERO);
    node.leave().await.unwrap();
}

/// Answers in several types.
#[derive(Default)]
struct Oracle;

#[entity(kind = "oracle")]
impl Oracle {
    async fn number(&self, n: u64) -> u64 {
        tokio::time::sleep(Duration::from_millis(n)).await;
        n
    }

    async fn text(&self, text: String) -> String {
        format!("{text}!")
    }

    async fn pair(&self, flag: bool) -> (bool, Option<String>) {
        (flag, flag.then(|| "yes".to_owned()))
    }

    /// Lets a counter answer in its stead.
    async fn refer(&self, counter: String, answer: Reply<i64>, ctx: &ostrakon::Context<Self>) {
        let counter = ctx.node().entity::<Counter>(counter);
        let get = CounterMessage::Get { reply: answer };
        counter.as_ref().tell(get).await.unwrap();
    }
}

// Shardcake, later suite of codecs: a request that follows eagerly does not disturb how an earlier reply is encoded.
async fn asks_in_flight_together_get_each_their_own_answer(setup: Setup) {
    let builder = setup(Node::builder("solo").host::<Oracle>());
    let node = builder.start().await.unwrap();
    let oracle = node.entity::<Oracle>("o");
    let (number, text, pair, again) = tokio::join!(
        oracle.number(50),
        oracle.text("so".into()),
        oracle.pair(true),
        oracle.number(7),
    );
    assert_eq!(number, Ok(50));
    assert_eq!(text, Ok("so!".into()));
    assert_eq!(pair, Ok((true, Some("yes".into()))));
    assert_eq!(again, Ok(7));
    node.leave().await.unwrap();
}

// Casty, remote transport: who is named inside a message as the one to answer gets the answer, whoever gives it.
async fn a_reply_can_be_handed_on_to_another_entity(setup: Setup) {
    let builder = Node::builder("solo").host::<Oracle>().host::<Counter>();
    let node = setup(builder).start().await.unwrap();
    node.entity::<Counter>("c1").add(17).await.unwrap();
    let oracle = node.entity::<Oracle>("o");
    let refer = |answer| OracleMessage::Refer {
        counter: "c1".into(),
        answer,
        reply: Reply::ignored(),
    };
    assert_eq!(oracle.as_ref().ask(refer).await, Ok(17));
    node.leave().await.unwrap();
}
