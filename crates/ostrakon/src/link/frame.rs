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

use std::str;

use ostrakon_core::{EntityId, EntityKind, Epoch, ShardId};
use thiserror::Error;

use super::fault::Fault;

/// The largest piece of a frame that travels in one part.
pub(crate) const PART: usize = 64 * 1024;
/// The longest frame on the wire.
pub(crate) const MOST: usize = PART + 64;
/// The most replies that one message may carry.
pub(crate) const MOST_PORTS: usize = 64;
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

/// A message to an entity or an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// 0 for a tell.
    pub(crate) request: RequestId,
    pub(crate) to: Addressee,
    pub(crate) kind: &'a str,
    pub(crate) id: &'a str,
    /// How much time the asker leaves, in milliseconds; 0 for a tell.
    pub(crate) remaining: u64,
    ports: &'a [u8],
    options: &'a [u8],
    pub(crate) payload: &'a [u8],
    /// All of it, as it came.
    pub(crate) body: &'a [u8],
}

/// Who a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// Whoever owns this shard under this epoch or a later one.
    Entity { shard: ShardId, epoch: Epoch },
    /// The actor of this name on the node itself.
    Actor,
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

/// A reply inside a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortTag {
    pub(crate) is_stream: bool,
    /// The number of the codec that the answer is expected in.
    pub(crate) codec: u8,
    pub(crate) request: RequestId,
}

/// The bytes are no frame. Nothing that follows can be trusted: the connection must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BadFrame {
    #[error("a frame of {length} bytes, longer than the {MOST} that are allowed")]
    TooLong { length: usize },
    #[error("a frame is shorter than its fields")]
    Truncated,
    #[error("a number in a frame is out of range")]
    BadNumber,
    #[error("a text in a frame is not UTF-8")]
    BadText,
    #[error("a name in a frame is longer than allowed")]
    LongName,
    #[error("a message carries more than {MOST_PORTS} replies")]
    ManyPorts,
    #[error("a message of {length} bytes, longer than the {limit} that are allowed")]
    LongMessage { length: usize, limit: usize },
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

/// Optional fields of a message; a reader skips those it does not know.
pub(crate) mod option {
    pub(crate) const TRACE: u8 = 1;
    pub(crate) const CHAIN: u8 = 2;
    pub(crate) const OPENS_STREAM: u8 = 3;
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

impl<'a> Message<'a> {
    fn read(body: &'a [u8], request: RequestId, mut fields: Fields<'a>) -> Result<Self, BadFrame> {
        let to = match fields.number()? {
            0 => Addressee::Actor,
            shard => Addressee::Entity {
                shard: shard_id(shard)?,
                epoch: Epoch::new(fields.number()?),
            },
        };
        let kind = fields.text(EntityKind::MAX_LEN)?;
        let id = fields.text(EntityId::MAX_LEN)?;
        let remaining = fields.number()?;
        let ports = fields.section()?;
        let options = fields.section()?;
        let message = Self {
            request,
            to,
            kind,
            id,
            remaining,
            ports,
            options,
            payload: fields.0,
            body,
        };
        message.check_ports()?;
        Ok(message)
    }

    fn check_ports(&self) -> Result<(), BadFrame> {
        let mut fields = Fields(self.ports);
        for _ in 0..MOST_PORTS {
            if fields.0.is_empty() {
                return Ok(());
            }
            PortTag::read(&mut fields)?;
        }
        if fields.0.is_empty() {
            Ok(())
        } else {
            Err(BadFrame::ManyPorts)
        }
    }

    /// The replies inside the message, in the order in which it numbers them.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortTag> + use<'a> {
        let mut fields = Fields(self.ports);
        std::iter::from_fn(move || PortTag::read(&mut fields).ok())
    }

    pub(crate) fn options(&self) -> &'a [u8] {
        self.options
    }

    /// The optional field with this tag.
    pub(crate) fn option(&self, wanted: u8) -> Option<&'a [u8]> {
        find_option(self.options, wanted)
    }
}

/// The field with this tag among the optional ones of a message.
pub(crate) fn find_option(options: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut fields = Fields(options);
    while !fields.0.is_empty() {
        let tag = fields.byte().ok()?;
        let value = fields.section().ok()?;
        if tag == wanted {
            return Some(value);
        }
    }
    None
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

impl PortTag {
    const STREAM: u8 = 0x80;

    fn read(fields: &mut Fields<'_>) -> Result<Self, BadFrame> {
        let tag = fields.byte()?;
        Ok(Self {
            is_stream: tag & Self::STREAM != 0,
            codec: tag & !Self::STREAM,
            request: fields.number()?,
        })
    }

    fn write(self, out: &mut Vec<u8>) {
        let stream = if self.is_stream { Self::STREAM } else { 0 };
        out.push(self.codec | stream);
        put_number(out, self.request);
    }
}

/// What has not been read yet of a frame.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn byte(&mut self) -> Result<u8, BadFrame> {
        let (first, rest) = self.0.split_first().ok_or(BadFrame::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    /// Seven bits to a byte, the lowest first; the high bit says that more follow.
    pub(crate) fn number(&mut self) -> Result<u64, BadFrame> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(BadFrame::BadNumber);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BadFrame::BadNumber)
    }

    fn small(&mut self) -> Result<u32, BadFrame> {
        u32::try_from(self.number()?).map_err(|_| BadFrame::BadNumber)
    }

    fn shard(&mut self) -> Result<ShardId, BadFrame> {
        shard_id(self.number()?)
    }

    pub(crate) fn section(&mut self) -> Result<&'a [u8], BadFrame> {
        let length = usize::try_from(self.number()?).map_err(|_| BadFrame::BadNumber)?;
        let (section, rest) = self.0.split_at_checked(length).ok_or(BadFrame::Truncated)?;
        self.0 = rest;
        Ok(section)
    }

    pub(crate) fn text(&mut self, most: usize) -> Result<&'a str, BadFrame> {
        let section = self.section()?;
        if section.len() > most {
            return Err(BadFrame::LongName);
        }
        str::from_utf8(section).map_err(|_| BadFrame::BadText)
    }
}

fn shard_id(number: u64) -> Result<ShardId, BadFrame> {
    let number = u32::try_from(number).ok();
    number.and_then(ShardId::new).ok_or(BadFrame::BadNumber)
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_section(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes one frame behind `out`: the length is filled in when all is written.
fn put(out: &mut Vec<u8>, kind: u8, request: RequestId, fields: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    out.push(kind);
    put_number(out, request);
    fields(out);
    let length = u32::try_from(out.len() - start - LENGTH).expect("messages have a limit");
    out[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// What a message frame is made of.
pub(crate) struct NewMessage<'a> {
    pub(crate) request: RequestId,
    pub(crate) to: Addressee,
    pub(crate) kind: &'a str,
    pub(crate) id: &'a str,
    pub(crate) remaining: u64,
    pub(crate) options: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl NewMessage<'_> {
    pub(crate) fn put(&self, out: &mut Vec<u8>, ports: impl Iterator<Item = PortTag> + Clone) {
        put(out, kind::MESSAGE, self.request, |out| {
            match self.to {
                Addressee::Actor => out.push(0),
                Addressee::Entity { shard, epoch } => {
                    put_number(out, u64::from(shard.get()));
                    put_number(out, epoch.get());
                }
            }
            put_section(out, self.kind.as_bytes());
            put_section(out, self.id.as_bytes());
            put_number(out, self.remaining);
            put_ports(out, ports);
            put_section(out, self.options);
            out.extend_from_slice(self.payload);
        });
    }
}

/// The section of the ports: nearly always none or one, so its length fits a byte and is filled in afterwards.
fn put_ports(out: &mut Vec<u8>, ports: impl Iterator<Item = PortTag> + Clone) {
    if ports.clone().count() <= 11 {
        let start = out.len();
        out.push(0);
        ports.for_each(|port| port.write(out));
        out[start] = (out.len() - start - 1) as u8;
        return;
    }
    let mut section = Vec::new();
    ports.for_each(|port| port.write(&mut section));
    put_section(out, &section);
}

pub(crate) fn put_returned(out: &mut Vec<u8>, owner: &str, epoch: Epoch, message: &[u8]) {
    put(out, kind::RETURNED, 0, |out| {
        put_section(out, owner.as_bytes());
        put_number(out, epoch.get());
        out.extend_from_slice(message);
    });
}

pub(crate) fn put_answer(out: &mut Vec<u8>, request: RequestId, bytes: &[u8]) {
    put(out, kind::ANSWER, request, |out| {
        out.extend_from_slice(bytes)
    });
}

pub(crate) fn put_fault(out: &mut Vec<u8>, request: RequestId, fault: &Fault<'_>) {
    put(out, kind::FAULT, request, |out| fault.write(out));
}

pub(crate) fn put_dropped(out: &mut Vec<u8>, kind: &str, id: &str, fault: &Fault<'_>) {
    put(out, kind::DROPPED, 0, |out| {
        put_section(out, kind.as_bytes());
        put_section(out, id.as_bytes());
        fault.write(out);
    });
}

pub(crate) fn put_item(out: &mut Vec<u8>, request: RequestId, bytes: &[u8]) {
    put(out, kind::ITEM, request, |out| out.extend_from_slice(bytes));
}

pub(crate) fn put_end(out: &mut Vec<u8>, request: RequestId, how: EndOfStream) {
    put(out, kind::END, request, |out| out.push(how.number()));
}

pub(crate) fn put_credit(out: &mut Vec<u8>, request: RequestId, units: u32) {
    put(out, kind::CREDIT, request, |out| {
        put_number(out, u64::from(units))
    });
}

pub(crate) fn put_cancel(out: &mut Vec<u8>, request: RequestId) {
    put(out, kind::CANCEL, request, |_| {});
}

pub(crate) fn put_fence(out: &mut Vec<u8>, token: RequestId, group: &str, shard: ShardId) {
    put(out, kind::FENCE, token, |out| {
        put_section(out, group.as_bytes());
        put_number(out, u64::from(shard.get()));
    });
}

pub(crate) fn put_fenced(out: &mut Vec<u8>, token: RequestId) {
    put(out, kind::FENCED, token, |_| {});
}

pub(crate) fn put_part(out: &mut Vec<u8>, bytes: &[u8], last: bool) {
    put(out, kind::PART, 0, |out| {
        out.push(u8::from(last));
        out.extend_from_slice(bytes);
    });
}

pub(crate) fn put_parts_read(out: &mut Vec<u8>, bytes: u64) {
    put(out, kind::PARTS_READ, 0, |out| put_number(out, bytes));
}

pub(crate) fn put_ping(out: &mut Vec<u8>, token: RequestId) {
    put(out, kind::PING, token, |_| {});
}

pub(crate) fn put_pong(out: &mut Vec<u8>, token: RequestId) {
    put(out, kind::PONG, token, |_| {});
}

pub(crate) fn put_goodbye(out: &mut Vec<u8>, reason: &str) {
    put(out, kind::GOODBYE, 0, |out| {
        put_section(out, reason.as_bytes())
    });
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

#[cfg(test)]
mod tests;
