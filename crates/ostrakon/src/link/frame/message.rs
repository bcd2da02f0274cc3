//! `Message`: the frame that most others are about, read and written, with the replies that it carries and its optional fields.

use ostrakon_core::{EntityId, EntityKind, Epoch, ShardId};

use super::{
    BadFrame, RequestId,
    fields::{Fields, put_number, put_section, shard_id},
    kind,
    writing::put,
};

/// The most replies that one message may carry.
pub(crate) const MOST_PORTS: usize = 64;

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
    ports: Tags<'a>,
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

/// A reply inside a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortTag {
    pub(crate) is_stream: bool,
    /// The number of the codec that the answer is expected in.
    pub(crate) codec: u8,
    pub(crate) request: RequestId,
}

/// The replies inside a message: nearly always none or one, so the first has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tags<'a> {
    first: Option<PortTag>,
    more: Fields<'a>,
}

impl<'a> Tags<'a> {
    fn read(section: &'a [u8]) -> Result<Self, BadFrame> {
        let mut more = Fields(section);
        let mut first = None;
        if !more.0.is_empty() {
            first = Some(PortTag::read(&mut more)?);
        }
        let mut rest = more;
        for _ in 1..MOST_PORTS {
            if rest.0.is_empty() {
                break;
            }
            PortTag::read(&mut rest)?;
        }
        if !rest.0.is_empty() {
            return Err(BadFrame::ManyPorts);
        }
        Ok(Self { first, more })
    }
}

/// Optional fields of a message; a reader skips those it does not know.
pub(crate) mod option {
    pub(crate) const TRACE: u8 = 1;
    pub(crate) const CHAIN: u8 = 2;
    pub(crate) const OPENS_STREAM: u8 = 3;
}

impl<'a> Message<'a> {
    pub(super) fn read(
        body: &'a [u8],
        request: RequestId,
        mut fields: Fields<'a>,
    ) -> Result<Self, BadFrame> {
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
        let ports = Tags::read(fields.section()?)?;
        let options = fields.section()?;
        Ok(Self {
            request,
            to,
            kind,
            id,
            remaining,
            ports,
            options,
            payload: fields.0,
            body,
        })
    }

    /// The replies inside the message, in the order in which it numbers them.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortTag> + use<'a> {
        let Tags { first, mut more } = self.ports;
        let more = std::iter::from_fn(move || PortTag::read(&mut more).ok());
        first.into_iter().chain(more)
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

    fn write(&self, out: &mut Vec<u8>) {
        let stream = if self.is_stream { Self::STREAM } else { 0 };
        out.push(self.codec | stream);
        put_number(out, self.request);
    }
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
    pub(crate) fn put(&self, out: &mut Vec<u8>, ports: &[PortTag]) {
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
fn put_ports(out: &mut Vec<u8>, ports: &[PortTag]) {
    if ports.len() <= 11 {
        let start = out.len();
        out.push(0);
        ports.iter().for_each(|port| port.write(out));
        out[start] = (out.len() - start - 1) as u8;
        return;
    }
    let mut section = Vec::new();
    ports.iter().for_each(|port| port.write(&mut section));
    put_section(out, &section);
}
