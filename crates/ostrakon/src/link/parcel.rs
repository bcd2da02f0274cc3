//! `Parcel`: a message that waits to be sent, with all that is needed to send it again elsewhere.

use std::sync::Arc;

use ostrakon_core::{EntityId, ShardId, Time};

use super::{
    frame::{self, Addressee, PortTag, RequestId, option},
    hub::Hub,
    requests::{Owed, Request},
};
use crate::{
    AskError, CallChain, Cause, Codec, TellError, TraceContext,
    lease::{Lease, is_acting_here},
    reply::{AskId, Settle},
    wire::{Nobody, Port, Ports},
};

pub(crate) struct Parcel {
    pub(crate) kind: &'static str,
    pub(crate) id: EntityId,
    pub(crate) shard: ShardId,
    /// The asker; `None` for a tell.
    pub(crate) asker: Option<Arc<dyn Settle>>,
    /// When it is no use any more.
    pub(crate) deadline: Time,
    /// Where it comes from.
    pub(crate) origin: Origin,
    pub(crate) options: Vec<u8>,
    pub(crate) ports: Ports,
    pub(crate) payload: Vec<u8>,
}

/// Who sends a message. What an entity sends leaves the node only while its lease lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody whose lease can end.
    Free,
    /// An entity, when the node had lost its shards so many times.
    Entity { losses: u64 },
}

impl Origin {
    /// Of a message that is being sent here.
    pub(crate) fn here(lease: &Lease) -> Self {
        if is_acting_here() {
            Self::entity(lease)
        } else {
            Self::Free
        }
    }

    /// Of a message that was sent once. Nobody remembers by whom: where leases can end it is treated as an entity's.
    fn unknown(lease: &Lease) -> Self {
        match lease.until() {
            Some(_) => Self::entity(lease),
            None => Self::Free,
        }
    }

    fn entity(lease: &Lease) -> Self {
        let losses = lease.losses();
        Self::Entity { losses }
    }
}

impl Parcel {
    /// How much of a lane's room it takes.
    pub(crate) fn size(&self) -> usize {
        self.payload.len() + self.options.len() + self.id.as_str().len()
    }

    /// A message that was sent or about to be, with its requests taken out of the table.
    ///
    /// Nobody waits for it any more: then its other replies are returned, to be dropped where no lock is held. Whoever has passed one on
    /// is told then.
    pub(crate) fn taken_back(
        hub: &Hub,
        message: &frame::Message<'_>,
        mut remove: impl FnMut(RequestId) -> Option<Request>,
    ) -> Result<Self, Ports> {
        let mut asking = None;
        let mut ports = Ports::new();
        for tag in message.ports() {
            let Some(request) = remove(tag.request) else {
                // The consumer of a stream may be gone and the message be wanted all the same.
                ports.extend(nobody(tag));
                continue;
            };
            let Owed::Reply(port) = request.owed else {
                continue;
            };
            if let (Port::Answer(port), true) = (&port, tag.request == message.request) {
                asking = Some((Arc::clone(&port.sink) as Arc<dyn Settle>, request.deadline));
            }
            ports.push(port);
        }
        if message.request != 0
            && asking.is_none()
            && let Some(request) = remove(message.request)
            && let Owed::Opening(opening) = request.owed
        {
            asking = Some((opening, request.deadline));
        }
        let is_void = message.request != 0 && asking.is_none();
        let known = hub.known_kind(message.kind);
        let (Some(kind), Addressee::Entity { shard, .. }, Ok(id), false) =
            (known, message.to, EntityId::new(message.id), is_void)
        else {
            return Err(ports);
        };
        let (asker, deadline) = asking.unzip();
        Ok(Self {
            kind,
            id,
            shard,
            asker,
            deadline: deadline
                .flatten()
                .unwrap_or_else(|| hub.deadline(message.remaining)),
            origin: Origin::unknown(&hub.lease),
            options: message.options().to_vec(),
            ports,
            payload: message.payload.to_vec(),
        })
    }

    /// It is with this node again. No lock may be held: whoever waits is woken.
    pub(crate) fn came_back(&self) {
        if let Some(asker) = &self.asker {
            // Whoever waits is woken. If that panics, the message goes on all the same.
            let _ = Cause::catch(|| asker.came_back());
        }
    }

    /// Nobody could take it.
    pub(crate) fn fail(self, hub: &Hub, error: TellError) {
        // The same, for those behind it.
        let _ = Cause::catch(|| match &self.asker {
            Some(asker) => asker.fail(AskError::NotSent(error)),
            None => hub.undelivered(self.kind, &self.id, "no_owner"),
        });
        let _ = Cause::catch(|| drop(self));
    }

    /// Whether nobody wants it any more.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        self.deadline <= now || self.asker.as_ref().is_some_and(|asker| asker.is_over())
    }

    /// Whether it comes from an entity that this node has lost since.
    pub(crate) fn is_lost(&self, lease: &Lease) -> bool {
        match self.origin {
            Origin::Entity { losses } => losses < lease.losses(),
            Origin::Free => false,
        }
    }

    pub(crate) fn no_owner(&self) -> TellError {
        TellError::NoOwner {
            kind: self.kind,
            id: self.id.clone(),
            shard: self.shard,
        }
    }

    pub(crate) fn is_of(&self, ask: AskId) -> bool {
        let asker = self.asker.as_ref();
        asker.is_some_and(|asker| asker.id() == ask)
    }
}

/// Stands for a reply that nobody waits for any more.
fn nobody(tag: PortTag) -> Option<Port> {
    let codec = Codec::from_id(tag.codec)?;
    Some(match tag.is_stream {
        true => Nobody::items(codec),
        false => Nobody::answer(codec),
    })
}

/// The optional fields of a message.
pub(crate) fn write_options(
    out: &mut Vec<u8>,
    trace: Option<&TraceContext>,
    chain: Option<&CallChain>,
    opens_stream: bool,
) {
    if let Some(trace) = trace {
        out.push(option::TRACE);
        frame::put_section(out, &trace.to_bytes());
    }
    if let Some(chain) = chain {
        let mut bytes = Vec::new();
        chain.write(&mut bytes);
        out.push(option::CHAIN);
        frame::put_section(out, &bytes);
    }
    if opens_stream {
        out.push(option::OPENS_STREAM);
        frame::put_section(out, &[]);
    }
}
