//! A caller: sends its numbered things in bursts, and notes what it is told about each.
//!
//! Within a burst nothing waits for the answer to what was sent before: that is where order could get lost.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ostrakon::{AskError, EntityRef, EntityStream, Node, Outcome, StreamError};

use super::{
    account::{Account, Ending, Verb},
    witness::{Sign, Witness, WitnessMessage},
};
use crate::cluster::SOON;

/// How long an ask may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// How long some may take: often too little, so that they are taken back from wherever they are.
const HASTE: Duration = Duration::from_millis(40);
const LONGEST_BURST: usize = 8;
const LARGE: usize = 100 * 1024;

pub(crate) struct Caller {
    pub(crate) number: u32,
    pub(crate) node: Node,
    pub(crate) entities: Vec<String>,
    pub(crate) asks: u64,
    pub(crate) dice: fastrand::Rng,
    /// The number of the last thing sent.
    pub(crate) last: u64,
}

/// What is sent next.
#[derive(Debug, Clone, Copy)]
enum Plan {
    Ask { load: usize },
    AskToFail,
    Tell,
    Stream { to: u64 },
}

impl Caller {
    pub(crate) async fn call(mut self) -> Vec<Account> {
        let mut accounts = Vec::new();
        let mut left = self.asks;
        while left > 0 {
            let mut burst = Vec::new();
            for _ in 0..self.dice.usize(1..=LONGEST_BURST) {
                let plan = self.plan();
                left = left.saturating_sub(plan.asks());
                burst.push(self.send(plan));
            }
            // Polls them in order at first, so that they are sent in order.
            accounts.extend(join_all(burst).await);
        }
        accounts
    }

    fn plan(&mut self) -> Plan {
        match self.dice.u32(0..1000) {
            0..5 => Plan::AskToFail,
            5..8 => Plan::Ask { load: LARGE },
            8..20 => Plan::Stream {
                to: self.dice.u64(0..200),
            },
            20..220 => Plan::Tell,
            _ => Plan::Ask { load: 8 },
        }
    }

    fn send(&mut self, plan: Plan) -> impl Future<Output = Account> + use<> {
        self.last += 1;
        let sign = Sign {
            caller: self.number,
            n: self.last,
        };
        let id = self.dice.choice(&self.entities).expect("some").clone();
        let deadline = match self.dice.u32(0..6) {
            0 => HASTE,
            _ => DEADLINE,
        };
        let entity = self.node.entity::<Witness>(&id).within(deadline);
        async move {
            let began = Instant::now();
            let (ending, ended) = match plan {
                Plan::Ask { load } => (ask(&entity, sign, load).await, began.elapsed()),
                Plan::AskToFail => (ask_to_fail(&entity, sign).await, began.elapsed()),
                Plan::Tell => (tell(&entity, sign), began.elapsed()),
                Plan::Stream { to } => {
                    let opened = entity
                        .stream(|reply| WitnessMessage::Count { sign, to, reply })
                        .await;
                    let ended = began.elapsed();
                    (stream(opened, to).await, ended)
                }
            };
            Account {
                sign,
                entity: id,
                verb: plan.verb(),
                ending,
                deadline,
                took: ended,
            }
        }
    }
}

impl Plan {
    /// How much of an ask it is: what has no deadline is none.
    fn asks(self) -> u64 {
        match self {
            Self::Ask { .. } | Self::AskToFail => 1,
            Self::Tell | Self::Stream { .. } => 0,
        }
    }

    fn verb(self) -> Verb {
        match self {
            Self::Ask { load } if load >= LARGE => Verb::LargeAsk,
            Self::Ask { .. } | Self::AskToFail => Verb::Ask,
            Self::Tell => Verb::Tell,
            Self::Stream { .. } => Verb::Stream,
        }
    }
}

async fn ask(entity: &EntityRef<Witness>, sign: Sign, size: usize) -> Ending {
    // Unlike that of its neighbours.
    let load = vec![(sign.n * 31 + u64::from(sign.caller)) as u8; size];
    let sent = load.clone();
    let look = |reply| WitnessMessage::Look {
        sign,
        load: sent,
        reply,
    };
    match entity.ask(look).await {
        Ok(answer) => {
            assert!(answer == (sign, load), "the answer to something else");
            Ending::Replied
        }
        Err(error) => Ending::of(&error),
    }
}

async fn ask_to_fail(entity: &EntityRef<Witness>, sign: Sign) -> Ending {
    let stumble = |reply| WitnessMessage::Stumble { sign, reply };
    match entity.ask(stumble).await {
        Ok(()) => panic!("an answer that nobody gave"),
        Err(error) => Ending::of(&error),
    }
}

fn tell(entity: &EntityRef<Witness>, sign: Sign) -> Ending {
    // At once, not when there is time: within a burst the order counts.
    match entity.try_tell(WitnessMessage::Hear { sign }) {
        Ok(()) => Ending::Unknown,
        Err(_) => Ending::NotExecuted,
    }
}

/// Reads a stream to its end, however that is.
async fn stream(opened: Result<EntityStream<u64>, AskError>, to: u64) -> Ending {
    let mut items = match opened {
        Ok(items) => items,
        Err(error) => return Ending::of(&error),
    };
    let mut read = 0;
    loop {
        let next = tokio::time::timeout(SOON, items.next()).await;
        match next.expect("an item, or the end") {
            Some(Ok(item)) => {
                assert_eq!(item, read, "an item is missing, or came twice");
                read += 1;
            }
            Some(Err(StreamError::Interrupted)) => return Ending::Interrupted,
            Some(Err(error)) => panic!("{error}"),
            None => {
                assert_eq!(read, to, "it was said to be complete");
                return Ending::Replied;
            }
        }
    }
}

impl Ending {
    fn of(error: &AskError) -> Self {
        match error.outcome() {
            Outcome::NotExecuted => Self::NotExecuted,
            Outcome::FailedInHandler => Self::Failed,
            Outcome::Unknown => Self::Unknown,
            Outcome::Executed => panic!("it answers everything that it handles: {error}"),
        }
    }
}
