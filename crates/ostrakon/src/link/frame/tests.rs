//! Frames as bytes: what is written is read, what the bytes are never changes, and no bytes at all do harm.

mod golden;
mod refusing;
mod round_trips;

use self::golden::golden;
use super::{writing::put, *};
use crate::link::campaign::{Campaign, from_hex, to_hex};

fn example() -> NewMessage<'static> {
    NewMessage {
        request: 300,
        to: Addressee::Entity {
            shard: ShardId::new(5).unwrap(),
            epoch: Epoch::new(7),
        },
        kind: "chat",
        id: "lobby",
        remaining: 1500,
        options: &[option::TRACE, 2, 0xaa, 0xbb],
        payload: &[0xde, 0xad],
    }
}

fn ports() -> [PortTag; 2] {
    let answer = PortTag {
        is_stream: false,
        codec: 1,
        request: 300,
    };
    let items = PortTag {
        is_stream: true,
        codec: 2,
        request: 301,
    };
    [answer, items]
}

fn body_of_example() -> Vec<u8> {
    body(&written(|out| example().put(out, &ports()))).to_vec()
}

fn fault(code: u64, text: &str) -> Fault<'static> {
    let mut bytes = Vec::new();
    put_number(&mut bytes, code);
    put_section(&mut bytes, text.as_bytes());
    // The only way to any number: from the wire.
    Fault::read(&mut Fields(bytes.leak())).unwrap()
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// The bounded campaign of `cargo test`, the long one of `cargo xtask fuzz --only frames`.
#[test]
fn campaign_of_frames() {
    let bodies = golden()
        .into_iter()
        .map(|(_, hex)| from_hex(hex).split_off(LENGTH));
    Campaign::run("frames", 200_000, bodies.collect(), check);
}

/// Reads `body` and everything in it. Says which kind it began as, and what became of it.
fn check(body: &[u8]) -> (Option<u8>, &'static str) {
    let kind = body.first().copied();
    let frame = match Frame::read(body) {
        Ok(frame) => frame,
        Err(bad) => return (kind.filter(|kind| *kind <= kind::GOODBYE), name(bad)),
    };
    let message =
        if let Frame::Message(message) | Frame::Returned(Returned { message, .. }) = &frame {
            Some(message)
        } else {
            None
        };
    if let Some(message) = message {
        assert!(message.ports().count() <= MOST_PORTS);
        assert!(message.kind.len() <= EntityKind::MAX_LEN);
        assert!(message.id.len() <= EntityId::MAX_LEN);
        assert!(message.body.ends_with(message.payload));
        let found = (0..=u8::MAX).filter_map(|tag| message.option(tag));
        assert!(found.map(<[u8]>::len).sum::<usize>() <= message.options().len());
    }
    // There are many ways to write the same frame, but only one that is ours.
    let ours = rewritten(&frame);
    let again = Frame::read(super::body(&ours)).expect("what we write can be read");
    assert_eq!(to_hex(&rewritten(&again)), to_hex(&ours), "{frame:?}");
    let frame_kind = ours[LENGTH];
    assert_eq!(Some(frame_kind), kind);
    // One unknown kind is as good as another.
    let kind = kind.map(|kind| kind.min(kind::GOODBYE + 1));
    (kind, message.map_or("read", |message| detail(message)))
}

/// What tells one message from another.
fn detail(message: &Message<'_>) -> &'static str {
    let has_ports = message.ports().next().is_some();
    match (message.to, has_ports, message.options().is_empty()) {
        (Addressee::Actor, false, true) => "actor",
        (Addressee::Actor, false, false) => "actor, options",
        (Addressee::Actor, true, true) => "actor, ports",
        (Addressee::Actor, true, false) => "actor, ports, options",
        (Addressee::Entity { .. }, false, true) => "entity",
        (Addressee::Entity { .. }, false, false) => "entity, options",
        (Addressee::Entity { .. }, true, true) => "entity, ports",
        (Addressee::Entity { .. }, true, false) => "entity, ports, options",
    }
}

fn name(bad: BadFrame) -> &'static str {
    match bad {
        BadFrame::TooLong { .. } => "too long",
        BadFrame::Truncated => "truncated",
        BadFrame::BadNumber => "bad number",
        BadFrame::BadText => "bad text",
        BadFrame::LongName => "long name",
        BadFrame::ManyPorts => "many ports",
        BadFrame::LongMessage { .. } => "long message",
    }
}

/// The frame with its length, as we would write it.
fn rewritten(frame: &Frame<'_>) -> Vec<u8> {
    written(|out| match frame {
        Frame::Message(message) => rewrite_message(message, out),
        Frame::Returned(returned) => {
            let message = written(|out| rewrite_message(&returned.message, out));
            put_returned(out, returned.owner, returned.epoch, body(&message));
        }
        Frame::Answer { request, bytes } => put_answer(out, *request, bytes),
        Frame::Fault { request, fault } => put_fault(out, *request, fault),
        Frame::Dropped { kind, id, fault } => put_dropped(out, kind, id, fault),
        Frame::Item { request, bytes } => put_item(out, *request, bytes),
        Frame::End { request, how } => put_end(out, *request, *how),
        Frame::Credit { request, units } => put_credit(out, *request, *units),
        Frame::Cancel { request } => put_cancel(out, *request),
        Frame::Fence {
            token,
            group,
            shard,
        } => put_fence(out, *token, group, *shard),
        Frame::Fenced { token } => put_fenced(out, *token),
        Frame::Part { last, bytes } => put_part(out, bytes, *last),
        Frame::PartsRead { bytes } => put_parts_read(out, *bytes),
        Frame::Ping { token } => put_ping(out, *token),
        Frame::Pong { token } => put_pong(out, *token),
        Frame::Goodbye { reason } => put_goodbye(out, reason),
        // What it was before it was taken back is not said.
        Frame::Void => put(out, kind::VOID, 9, |_| {}),
        Frame::Unknown { kind, request } => put(out, *kind, *request, |_| {}),
    })
}

fn rewrite_message(message: &Message<'_>, out: &mut Vec<u8>) {
    let ports: Vec<PortTag> = message.ports().collect();
    let new = NewMessage {
        request: message.request,
        to: message.to,
        kind: message.kind,
        id: message.id,
        remaining: message.remaining,
        options: message.options(),
        payload: message.payload,
    };
    new.put(out, &ports);
}
