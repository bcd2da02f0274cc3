//! Frames: what travels on a connection between two nodes, as bytes.
//!
//! ```text
//!   length u32 LE │ kind u8 │ request (varint) │ fields by kind
//!                 └──────────── length ───────────────────────┘
//! ```
//!
//! A frame is at most [`MOST`] bytes: a larger one travels as [`Frame::Part`]s. Every frame names a request, or 0, in the
//! same place: so even one of a kind that this version does not know can be refused by name. Invariant: whatever the bytes,
//! reading ends in a frame or in a [`BadFrame`], and allocates nothing.

mod bad_frame;
mod fields;
mod message;
#[cfg(test)]
mod tests;
mod writing;

use ostrakon_core::{EntityId, EntityKind, Epoch, ShardId};

pub(crate) use self::{
    bad_frame::BadFrame,
    fields::{Fields, put_number, put_section},
    message::{Addressee, MOST_PORTS, Message, NewMessage, PortTag, find_option, option},
    writing::{
        put_answer, put_cancel, put_credit, put_dropped, put_end, put_fault, put_fence, put_fenced,
        put_goodbye, put_item, put_part, put_parts_read, put_ping, put_pong, put_returned,
    },
};
use super::fault::Fault;

/// The largest piece of a frame that travels in one part.
pub(crate) const PART: usize = 64 * 1024;
/// The longest frame on the wire.
pub(crate) const MOST: usize = PART + 64;
/// How long the length field is.
const LENGTH: usize = 4;

/// The number of a request: chosen by the side that waits for the answer, 0 for none.
pub(crate) type RequestId = u64;

/// One frame, as it lies in the buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// For an entity or an actor.
    Message(Message<'a>),
    /// A message comes back: this node does not own its shard. It was not executed.
    Returned(Returned<'a>),
    /// The answer to an ask.
    Answer {
        request: RequestId,
        bytes: &'a [u8],
    },
    /// Why there is no answer.
    Fault {
        request: RequestId,
        fault: Fault<'a>,
    },
    /// A told message was not accepted: nobody waits for it, but it must not be lost in silence.
    Dropped {
        kind: &'a str,
        id: &'a str,
        fault: Fault<'a>,
    },
    /// One item of a stream.
    Item {
        request: RequestId,
        bytes: &'a [u8],
    },
    /// The stream is over.
    End {
        request: RequestId,
        how: EndOfStream,
    },
    /// The consumer of a stream has room for more.
    Credit {
        request: RequestId,
        units: u32,
    },
    /// Nobody waits for this any more.
    Cancel {
        request: RequestId,
    },
    /// Say when all messages of a lane before this have been judged.
    Fence {
        token: RequestId,
        group: &'a str,
        shard: ShardId,
    },
    /// They have been.
    Fenced {
        token: RequestId,
    },
    /// A piece of a frame that is too long to travel at once.
    Part {
        last: bool,
        bytes: &'a [u8],
    },
    /// So many bytes of parts have been read.
    PartsRead {
        bytes: u64,
    },
    /// Are you there? Proves nothing but that somebody runs the other end.
    Ping {
        token: RequestId,
    },
    Pong {
        token: RequestId,
    },
    /// The sender leaves; the connection ends after this.
    Goodbye {
        reason: &'a str,
    },
    /// Taken back before it was sent.
    Void,
    /// Something that a later version knows.
    Unknown {
        kind: u8,
        request: RequestId,
    },
}

/// A message that comes back to its sender.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Returned<'a> {
    /// The owner, as far as the sender of this knows; empty if it does not.
    pub(crate) owner: &'a str,
    pub(crate) epoch: Epoch,
    pub(crate) message: Message<'a>,
}

/// How a stream came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndOfStream {
    Finished,
    Interrupted,
    /// An item could not be encoded.
    Broken,
}

mod kind {
    pub(super) const VOID: u8 = 0;
    pub(super) const MESSAGE: u8 = 1;
    pub(super) const RETURNED: u8 = 2;
    pub(super) const ANSWER: u8 = 3;
    pub(super) const FAULT: u8 = 4;
    pub(super) const DROPPED: u8 = 5;
    pub(super) const ITEM: u8 = 6;
    pub(super) const END: u8 = 7;
    pub(super) const CREDIT: u8 = 8;
    pub(super) const CANCEL: u8 = 9;
    pub(super) const FENCE: u8 = 10;
    pub(super) const FENCED: u8 = 11;
    pub(super) const PART: u8 = 12;
    pub(super) const PARTS_READ: u8 = 13;
    pub(super) const PING: u8 = 14;
    pub(super) const PONG: u8 = 15;
    pub(super) const GOODBYE: u8 = 16;
}

impl<'a> Frame<'a> {
    /// Reads the frame in `body`, which is what follows the length.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, BadFrame> {
        let mut fields = Fields(body);
        let kind = fields.byte()?;
        let request = fields.number()?;
        Ok(match kind {
            kind::MESSAGE => Self::Message(Message::read(body, request, fields)?),
            kind::RETURNED => Self::Returned(Returned::read(fields)?),
            kind::ANSWER => Self::Answer {
                request,
                bytes: fields.0,
            },
            kind::FAULT => Self::Fault {
                request,
                fault: Fault::read(&mut fields)?,
            },
            kind::DROPPED => Self::Dropped {
                kind: fields.text(EntityKind::MAX_LEN)?,
                id: fields.text(EntityId::MAX_LEN)?,
                fault: Fault::read(&mut fields)?,
            },
            kind::ITEM => Self::Item {
                request,
                bytes: fields.0,
            },
            kind::END => Self::End {
                request,
                how: EndOfStream::read(&mut fields)?,
            },
            kind::CREDIT => Self::Credit {
                request,
                units: fields.small()?,
            },
            kind::CANCEL => Self::Cancel { request },
            kind::FENCE => Self::Fence {
                token: request,
                group: fields.text(EntityKind::MAX_LEN)?,
                shard: fields.shard()?,
            },
            kind::FENCED => Self::Fenced { token: request },
            kind::PART => Self::Part {
                last: fields.byte()? != 0,
                bytes: fields.0,
            },
            kind::PARTS_READ => Self::PartsRead {
                bytes: fields.number()?,
            },
            kind::PING => Self::Ping { token: request },
            kind::PONG => Self::Pong { token: request },
            kind::GOODBYE => Self::Goodbye {
                reason: fields.text(MOST)?,
            },
            kind::VOID => Self::Void,
            kind => Self::Unknown { kind, request },
        })
    }
}

impl<'a> Returned<'a> {
    fn read(mut fields: Fields<'a>) -> Result<Self, BadFrame> {
        let owner = fields.text(EntityId::MAX_LEN)?;
        let epoch = Epoch::new(fields.number()?);
        let body = fields.0;
        // Not by way of `Frame::read`: a return inside a return inside a return would overflow the stack.
        if fields.byte()? != kind::MESSAGE {
            return Err(BadFrame::BadNumber);
        }
        let request = fields.number()?;
        let message = Message::read(body, request, fields)?;
        Ok(Self {
            owner,
            epoch,
            message,
        })
    }
}

impl EndOfStream {
    fn read(fields: &mut Fields<'_>) -> Result<Self, BadFrame> {
        match fields.byte()? {
            0 => Ok(Self::Finished),
            1 => Ok(Self::Interrupted),
            2 => Ok(Self::Broken),
            _ => Err(BadFrame::BadNumber),
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::Interrupted => 1,
            Self::Broken => 2,
        }
    }
}

/// How long the first frame in `bytes` is, its length field included; `None` if that cannot be told yet.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<LENGTH>()?;
    Some(LENGTH + u32::from_le_bytes(*length) as usize)
}

/// The frame at the beginning of `bytes` without its length field.
pub(crate) fn body(frame: &[u8]) -> &[u8] {
    &frame[LENGTH..]
}

/// Turns the frame at the beginning of `bytes` into one that says nothing.
pub(crate) fn make_void(bytes: &mut [u8]) {
    bytes[LENGTH] = kind::VOID;
}

/// Whether the whole frame in `bytes` is a message.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    bytes.get(LENGTH) == Some(&kind::MESSAGE)
}

/// Whether the frame at the beginning of `bytes` is a part of another.
pub(crate) fn is_part(bytes: &[u8]) -> bool {
    bytes.get(LENGTH) == Some(&kind::PART)
}
