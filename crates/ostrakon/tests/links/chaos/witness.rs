//! The entity of the chaos: it writes down whose message it handles, at the moment when it does, where no failure can take it back.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use ostrakon::{Context, Entity, EntityRef, Failure, Reply, StreamReply};
use serde::{Deserialize, Serialize};

/// What was sent: the `n`-th thing of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Sign {
    pub(crate) caller: u32,
    pub(crate) n: u64,
}

impl Sign {
    /// Of nobody: sent when all callers are done.
    pub(crate) const LAST: Self = Self {
        caller: u32::MAX,
        n: 0,
    };
}

/// What was handled by each entity, in order.
pub(crate) type Handled = BTreeMap<String, Vec<Sign>>;

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Handled>>);

impl Log {
    fn note(&self, entity: &str, sign: Sign) {
        let mut handled = self.0.lock().unwrap();
        handled.entry(entity.to_owned()).or_default().push(sign);
    }

    pub(crate) fn read(&self) -> Handled {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) struct Witness {
    log: Log,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum WitnessMessage {
    /// Answered with what it brought.
    Look {
        sign: Sign,
        load: Vec<u8>,
        reply: Reply<(Sign, Vec<u8>)>,
    },
    Hear {
        sign: Sign,
    },
    /// Fails.
    Stumble {
        sign: Sign,
        reply: Reply<()>,
    },
    /// Answered with the numbers below `to`.
    Count {
        sign: Sign,
        to: u64,
        reply: StreamReply<u64>,
    },
}

impl WitnessMessage {
    fn sign(&self) -> Sign {
        match self {
            Self::Look { sign, .. }
            | Self::Hear { sign }
            | Self::Stumble { sign, .. }
            | Self::Count { sign, .. } => *sign,
        }
    }
}

impl Witness {
    pub(crate) fn new(log: &Log) -> Self {
        Self { log: log.clone() }
    }
}

impl Entity for Witness {
    const KIND: &'static str = "witness";
    type Message = WitnessMessage;
    type Ref = EntityRef<Self>;

    async fn handle(
        &mut self,
        message: WitnessMessage,
        ctx: &mut Context<Self>,
    ) -> Result<(), Failure> {
        self.log.note(ctx.id().as_str(), message.sign());
        match message {
            WitnessMessage::Look { sign, load, reply } => {
                reply.send((sign, load));
            }
            WitnessMessage::Hear { .. } => {}
            WitnessMessage::Stumble { .. } => return Err("as it was told to".into()),
            WitnessMessage::Count { to, reply, .. } => ctx.spawn(async move {
                for n in 0..to {
                    if reply.send(n).await.is_err() {
                        return;
                    }
                }
                reply.finish().await;
            }),
        }
        Ok(())
    }
}
