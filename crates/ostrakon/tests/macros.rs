//! `#[entity]`: what can be written behaves as it says, and what cannot be written is explained.

#![deny(warnings, missing_docs, unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    reason = "entities of a test are part of the test"
)]

#[path = "macros/methods.rs"]
mod methods;

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context as Task, Poll},
    time::Duration,
};

use futures_core::Stream;
use ostrakon::{
    AskError, Codec, Context, Entity, EntityRef, Failure, Hosting, Node, NodeBuilder, Reply,
    StreamError, entity,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// The compiler's words change from release to release; these are compared with the release they were written for.
const WORDS_OF: &str = "rustc 1.95.";

#[test]
#[ignore = "builds all dependencies once more, which takes minutes; run it with --ignored after a change to the macro"]
fn mistakes_are_explained() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc).arg("--version").output();
    let version = String::from_utf8(version.expect("rustc runs").stdout).expect("text");
    if !version.starts_with(WORDS_OF) {
        println!("not compared: this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// The user's own names must not get into the generated code's way.
#[allow(dead_code, reason = "they are only in scope")]
type Result<T> = std::result::Result<T, ()>;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("only {balance} there")]
struct Insufficient {
    balance: i64,
}

/// Three entities that differ in their codec only.
macro_rules! account {
    ($name:ident, $($options:tt)*) => {
        #[derive(Default)]
        struct $name {
            balance: i64,
            notes: Vec<String>,
        }

        #[entity($($options)*)]
        impl $name {
            async fn deposit(&mut self, amount: i64) -> i64 {
                self.balance += amount;
                self.balance
            }

            async fn balance(&self) -> i64 {
                self.balance
            }

            async fn withdraw(
                &mut self,
                amount: i64,
            ) -> std::result::Result<i64, Insufficient> {
                if amount > self.balance {
                    return Err(Insufficient { balance: self.balance });
                }
                self.balance -= amount;
                Ok(self.balance)
            }

            async fn note(&mut self, mut text: String) {
                text.push('!');
                self.notes.push(text);
            }

            async fn notes(&self) -> Vec<String> {
                self.notes.clone()
            }

            // Every local name of the generated code, as an argument.
            async fn names(&self, ctx: u8, message: u8, reply: u8, r#type: u8) -> Vec<u8> {
                vec![ctx, message, reply, r#type]
            }

            async fn who(&self, greeting: String, ctx: &Context<Self>) -> String {
                format!("{greeting} {}", ctx.id())
            }

            fn watch(&mut self, from: i64) -> impl Stream<Item = i64> {
                Items((from..=self.balance).collect())
            }
        }
    };
}

account!(Account, kind = "account");
account!(Compact, kind = "compact", codec = "postcard");
account!(Readable, codec = "json", kind = "readable");

/// A stream of what is there.
struct Items<T>(VecDeque<T>);

impl<T: Unpin> Stream for Items<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.pop_front())
    }
}

macro_rules! account_behaves {
    ($($test:ident: $name:ident, $codec:ident;)*) => {$(
        #[tokio::test]
        async fn $test() {
            assert_eq!($name::CODEC, Codec::$codec);
            let node = Node::builder("n").host::<$name>().force_serialization();
            let node = node.start().await.unwrap();
            let account = node.entity::<$name>("alice");

            assert_eq!(account.deposit(5).await, Ok(5));
            account.tell().deposit(2).await.unwrap();
            assert_eq!(account.balance().await, Ok(7));

            assert_eq!(account.withdraw(3).await, Ok(4));
            let rejected = account.withdraw(9).await;
            assert_eq!(rejected, Err(AskError::Rejected(Insufficient { balance: 4 })));
            account.tell().withdraw(9).await.unwrap();

            assert_eq!(account.note("one".into()).await, Ok(()));
            account.tell().note("two".into()).await.unwrap();
            assert_eq!(account.notes().await, Ok(vec!["one!".into(), "two!".into()]));

            assert_eq!(account.names(1, 2, 3, 4).await, Ok(vec![1, 2, 3, 4]));
            assert_eq!(account.who("I am".into()).await, Ok("I am alice".into()));

            let mut stream = account.watch(2).await.unwrap();
            for expected in 2..=4 {
                assert_eq!(stream.next().await, Some(Ok(expected)));
            }
            assert_eq!(stream.next().await, None);
            node.leave().await.unwrap();
        }
    )*};
}

account_behaves! {
    every_method_works_through_message_pack: Account, MessagePack;
    every_method_works_through_postcard: Compact, Postcard;
    every_method_works_through_json: Readable, Json;
}

#[tokio::test]
async fn a_ref_knows_its_id_and_gives_its_untyped_ref() {
    let node = Node::builder("n").host::<Account>().start().await.unwrap();
    let account = node.entity::<Account>("bob").within(Duration::from_secs(1));
    assert_eq!(account.id().map(ostrakon::EntityId::as_str), Some("bob"));
    assert_eq!(format!("{account:?}"), "AccountRef(EntityRef(account/bob))");

    let untyped: &EntityRef<Account> = account.as_ref();
    let deposit = |reply| AccountMessage::Deposit { amount: 3, reply };
    assert_eq!(untyped.ask(deposit).await, Ok(3));
    assert_eq!(AccountRef::from(untyped.clone()).balance().await, Ok(3));
    node.leave().await.unwrap();
}

#[test]
fn the_kind_follows_from_the_name_unless_it_is_written() {
    assert_eq!(HTTPSession::KIND, "http_session");
    assert_eq!(Account::KIND, "account");
}

#[derive(Default)]
struct HTTPSession {
    ticks: u32,
}

#[entity]
impl HTTPSession {
    #[allow(clippy::use_self, reason = "the name must work too")]
    async fn begin(&mut self, ctx: &mut ostrakon::Context<HTTPSession>) {
        let tick = HTTPSessionMessage::Tick {
            reply: Reply::ignored(),
        };
        ctx.tell_self(tick).unwrap();
    }

    async fn tick(&mut self) -> u32 {
        self.ticks += 1;
        self.ticks
    }
}

#[tokio::test]
async fn a_method_with_the_context_can_send_its_own_messages() {
    let node = Node::builder("n")
        .host::<HTTPSession>()
        .start()
        .await
        .unwrap();
    let session = node.entity::<HTTPSession>("s");
    session.begin().await.unwrap();
    assert_eq!(session.tick().await, Ok(2));
    node.leave().await.unwrap();
}

/// Says what happens to it, on a channel that outlives its lives.
struct Witness {
    seen: mpsc::UnboundedSender<&'static str>,
    balance: i64,
}

#[entity(kind = "witness")]
impl Witness {
    #[start]
    async fn load(&mut self, ctx: &mut Context<Self>) -> std::result::Result<(), Failure> {
        if ctx.id().as_str() == "broken" {
            return Err("no such file".into());
        }
        self.reload().await;
        self.see("started");
        Ok(())
    }

    #[stop]
    async fn save(&mut self) {
        self.see("stopped");
    }

    #[helper]
    async fn reload(&mut self) {
        self.balance = 40;
    }

    fn see(&self, what: &'static str) {
        self.seen.send(what).unwrap();
    }

    /// Plain, because it has no receiver.
    async fn nothing() {}

    async fn balance(&self) -> i64 {
        Self::nothing().await;
        self.see("asked");
        self.balance
    }
}

#[tokio::test]
async fn hooks_run_around_the_messages() {
    let (node, mut seen) = witness().await;
    assert_eq!(node.entity::<Witness>("w").balance().await, Ok(40));
    node.leave().await.unwrap();
    for expected in ["started", "asked", "stopped"] {
        assert_eq!(seen.recv().await, Some(expected));
    }
}

#[tokio::test]
async fn an_error_of_the_start_hook_reaches_the_asker() {
    let (node, _seen) = witness().await;
    let error = node
        .entity::<Witness>("broken")
        .balance()
        .await
        .unwrap_err();
    assert!(matches!(&error, AskError::StartFailed(cause) if cause.as_str() == "no such file"));
    node.leave().await.unwrap();
}

async fn witness() -> (Node, mpsc::UnboundedReceiver<&'static str>) {
    let (seen, receiver) = mpsc::unbounded_channel();
    let make = move |_: &_| Witness {
        seen: seen.clone(),
        balance: 0,
    };
    let builder = Node::builder("n").host_with(Hosting::default(), make);
    (builder.start().await.unwrap(), receiver)
}

#[test]
fn helpers_hooks_and_plain_functions_are_no_messages() {
    fn name(message: &WitnessMessage) -> &str {
        // No other arm: this would not compile if there were a second message.
        match message {
            WitnessMessage::Balance { reply: _ } => "balance",
        }
    }
    let message = WitnessMessage::Balance {
        reply: Reply::ignored(),
    };
    assert_eq!(name(&message), "balance");
}

/// Fails on its first try of anything; the tries are counted outside of its memory, which a failure wipes out.
struct Shaky {
    tries: Arc<AtomicU32>,
    value: i64,
}

#[entity(codec = "json")]
impl Shaky {
    #[idempotent]
    async fn set(&mut self, value: i64, note: String) -> String {
        self.fail_once();
        self.value = value;
        format!("{note} {}", self.value)
    }

    async fn add(&mut self, value: i64) -> i64 {
        self.fail_once();
        self.value += value;
        self.value
    }

    fn fail_once(&self) {
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        assert_ne!(tries, 0, "the first try fails");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_message_is_handled_again_after_a_failure() {
    let plain = shaky();
    let forced = shaky().force_serialization();
    for builder in [plain, forced] {
        let node = builder.start().await.unwrap();
        let set = node.entity::<Shaky>("s").set(4, "now".into()).await;
        assert_eq!(set, Ok("now 4".into()));
        node.leave().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn another_message_is_not_handled_again() {
    let node = shaky().start().await.unwrap();
    let error = node.entity::<Shaky>("s").add(4).await.unwrap_err();
    assert!(matches!(error, AskError::Failed(_)), "{error:?}");
    node.leave().await.unwrap();
}

fn shaky() -> NodeBuilder {
    let tries = Arc::new(AtomicU32::new(0));
    let make = move |_: &_| Shaky {
        tries: tries.clone(),
        value: 0,
    };
    Node::builder("n").host_with(Hosting::default(), make)
}

/// Streams what it is told, to all who watch.
#[derive(Default)]
struct Ticker {
    watchers: Mutex<Vec<mpsc::UnboundedSender<u32>>>,
}

#[entity]
impl Ticker {
    fn watch(&self) -> impl Stream<Item = u32> + use<> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.watchers.lock().unwrap().push(sender);
        Received(receiver)
    }

    async fn tick(&self, n: u32) -> usize {
        let mut watchers = self.watchers.lock().unwrap();
        watchers.retain(|watcher| watcher.send(n).is_ok());
        watchers.len()
    }

    /// Comes back when nobody watches any more.
    async fn unwatched(&self) {
        let watchers = std::mem::take(&mut *self.watchers.lock().unwrap());
        for watcher in watchers {
            watcher.closed().await;
        }
    }

    async fn crash(&self) {
        panic!("as asked");
    }
}

struct Received(mpsc::UnboundedReceiver<u32>);

impl Stream for Received {
    type Item = u32;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<u32>> {
        self.0.poll_recv(cx)
    }
}

#[tokio::test]
async fn a_stream_runs_beside_other_messages() {
    let node = Node::builder("n").host::<Ticker>().start().await.unwrap();
    let ticker = node.entity::<Ticker>("t");
    let mut stream = ticker.watch().await.unwrap();
    for n in 0..3 {
        assert_eq!(ticker.tick(n).await, Ok(1));
        assert_eq!(stream.next().await, Some(Ok(n)));
    }
    node.leave().await.unwrap();
}

#[tokio::test]
async fn dropping_a_stream_ends_its_producer() {
    let node = Node::builder("n").host::<Ticker>().start().await.unwrap();
    let ticker = node.entity::<Ticker>("t");
    drop(ticker.watch().await.unwrap());
    assert_eq!(ticker.unwatched().await, Ok(()));
    node.leave().await.unwrap();
}

#[tokio::test]
async fn a_stream_of_an_entity_that_fails_is_interrupted() {
    let node = Node::builder("n").host::<Ticker>().start().await.unwrap();
    let ticker = node.entity::<Ticker>("t");
    let mut stream = ticker.watch().await.unwrap();
    ticker.crash().await.unwrap_err();
    assert_eq!(stream.next().await, Some(Err(StreamError::Interrupted)));
    node.leave().await.unwrap();
}

/// Messages whose types mention the entity itself, and one that is another in another configuration.
#[derive(Default, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Memory {
    words: Vec<String>,
}

#[entity]
impl Memory {
    async fn swap(&mut self, other: Self) -> Self {
        std::mem::replace(self, other)
    }

    #[allow(clippy::use_self, reason = "both ways must work")]
    async fn all(&self, others: Vec<Self>) -> Vec<Memory> {
        let mut all = others;
        all.push(self.clone());
        all
    }

    #[cfg(any())]
    #[idempotent]
    async fn size(&self, of: NoSuchType) {}

    #[cfg(not(any()))]
    #[idempotent]
    async fn size(&self) -> usize {
        self.words.len()
    }
}

#[tokio::test]
async fn self_in_a_message_is_the_entity() {
    let node = Node::builder("n").host::<Memory>().start().await.unwrap();
    let memory = node.entity::<Memory>("m");
    let other = Memory {
        words: vec!["w".into()],
    };
    assert_eq!(memory.swap(other.clone()).await, Ok(Memory::default()));
    let all = memory.all(vec![Memory::default()]).await;
    assert_eq!(all, Ok(vec![Memory::default(), other]));
    assert_eq!(memory.size().await, Ok(1));
    node.leave().await.unwrap();
}

/// All ways to say who may see an entity. That this compiles without a warning is half of the test.
mod visibility {
    use super::entity;

    #[derive(Default)]
    struct Private;

    #[entity(kind = "private")]
    impl Private {
        async fn one(&self, by: Secret) -> u8 {
            by.0
        }

        #[allow(unreachable_pub, reason = "the point of the test")]
        pub async fn two(&self) -> Secret {
            Secret(2)
        }
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Secret(u8);

    pub(super) async fn inside(node: &ostrakon::Node) -> u8 {
        node.entity::<Private>("p").one(Secret(1)).await.unwrap()
    }

    pub(super) fn host(builder: ostrakon::NodeBuilder) -> ostrakon::NodeBuilder {
        builder.host::<Private>().host::<Shy>()
    }

    #[derive(Default)]
    pub(crate) struct Crate;

    #[entity(kind = "crate")]
    impl Crate {
        pub(crate) async fn one(&self) -> u8 {
            2
        }

        pub(super) async fn two(&self) -> u8 {
            3
        }
    }

    /// Public, with messages for this module only.
    #[derive(Default)]
    #[allow(unreachable_pub, reason = "the point of the test")]
    pub struct Shy;

    #[entity(kind = "shy")]
    impl Shy {
        async fn one(&self) {}
    }
}

/// What a library would have.
#[allow(unreachable_pub, reason = "the point of the test")]
pub mod library {
    use super::entity;

    /// An entity for everybody.
    #[derive(Default)]
    pub struct Public;

    #[entity(kind = "public")]
    impl Public {
        /// Greets.
        pub async fn greet(&self, name: String) -> String {
            format!("hello {name}")
        }

        #[allow(missing_docs, reason = "the ref's method is quiet too")]
        pub async fn undocumented(&self) {}

        async fn inner(&self) {}
    }
}

#[tokio::test]
async fn refs_are_as_visible_as_their_methods() {
    let builder = Node::builder("n")
        .host::<visibility::Crate>()
        .host::<library::Public>();
    let node = visibility::host(builder).start().await.unwrap();
    assert_eq!(visibility::inside(&node).await, 1);
    let of_crate: visibility::CrateRef = node.entity::<visibility::Crate>("c");
    assert_eq!(of_crate.one().await, Ok(2));
    assert_eq!(of_crate.two().await, Ok(3));
    let public: library::PublicRef = node.entity::<library::Public>("p");
    assert_eq!(public.greet("you".into()).await, Ok("hello you".into()));
    node.leave().await.unwrap();
}

#[tokio::test]
async fn an_entity_may_be_declared_inside_a_function() {
    #[derive(Default)]
    struct Local;

    #[entity]
    impl Local {
        async fn answer(&self) -> u8 {
            42
        }
    }

    let node = Node::builder("n").host::<Local>().start().await.unwrap();
    assert_eq!(node.entity::<Local>("l").answer().await, Ok(42));
    node.leave().await.unwrap();
}
