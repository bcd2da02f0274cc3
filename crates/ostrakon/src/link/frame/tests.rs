//! Frames as bytes: what is written is read, what the bytes are never changes, and no bytes at all do harm.

use std::panic::RefUnwindSafe;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::link::campaign::{Campaign, Mutation, from_hex, to_hex};

/// Writes one frame.
type Writer = Box<dyn Fn(&mut Vec<u8>) + RefUnwindSafe>;

/// One of each kind, and its bytes as every version must write and read them.
fn golden() -> Vec<(Writer, &'static str)> {
    golden_messages()
        .into_iter()
        .chain(golden_signs())
        .collect()
}

fn golden_messages() -> Vec<(Writer, &'static str)> {
    let fault = || fault(2, "full");
    vec![
        (
            Box::new(|out| put(out, kind::VOID, 9, |_| {})),
            "02000000 00 09",
        ),
        (
            Box::new(|out| example().put(out, ports().into_iter())),
            "20000000 01 ac02 05 07 04 63686174 05 6c6f626279 dc0b 06 01ac02 82ad02 04 0102aabb dead",
        ),
        (
            Box::new(|out| {
                let actor = NewMessage {
                    request: 0,
                    to: Addressee::Actor,
                    remaining: 0,
                    options: &[],
                    ..example()
                };
                actor.put(out, [].into_iter());
            }),
            "13000000 01 00 00 04 63686174 05 6c6f626279 00 00 00 dead",
        ),
        (
            Box::new(|out| put_returned(out, "n2", Epoch::new(8), &body_of_example())),
            "26000000 02 00 02 6e32 08 01 ac02 05 07 04 63686174 05 6c6f626279 dc0b 06 01ac02 82ad02 04 0102aabb dead",
        ),
        (
            Box::new(|out| put_answer(out, 300, &[1, 2])),
            "05000000 03 ac02 0102",
        ),
        (
            Box::new(move |out| put_fault(out, 300, &fault())),
            "09000000 04 ac02 02 04 66756c6c",
        ),
        (
            Box::new(move |out| put_dropped(out, "chat", "lobby", &fault())),
            "13000000 05 00 04 63686174 05 6c6f626279 02 04 66756c6c",
        ),
    ]
}

fn golden_signs() -> Vec<(Writer, &'static str)> {
    let shard = ShardId::new(5).unwrap();
    vec![
        (
            Box::new(|out| put_item(out, 1, &[0xff])),
            "03000000 06 01 ff",
        ),
        (
            Box::new(|out| put_end(out, 1, EndOfStream::Finished)),
            "03000000 07 01 00",
        ),
        (
            Box::new(|out| put_end(out, 1, EndOfStream::Interrupted)),
            "03000000 07 01 01",
        ),
        (
            Box::new(|out| put_end(out, 1, EndOfStream::Broken)),
            "03000000 07 01 02",
        ),
        (
            Box::new(|out| put_credit(out, 1, 256)),
            "04000000 08 01 8002",
        ),
        (
            Box::new(|out| put_cancel(out, u64::MAX)),
            "0b000000 09 ffffffffffffffffff01",
        ),
        (
            Box::new(move |out| put_fence(out, 3, "default", shard)),
            "0b000000 0a 03 07 64656661756c74 05",
        ),
        (Box::new(|out| put_fenced(out, 3)), "02000000 0b 03"),
        (
            Box::new(|out| put_part(out, &[7, 7], false)),
            "05000000 0c 00 00 0707",
        ),
        (
            Box::new(|out| put_part(out, &[7], true)),
            "04000000 0c 00 01 07",
        ),
        (
            Box::new(|out| put_parts_read(out, 65536)),
            "05000000 0d 00 808004",
        ),
        (Box::new(|out| put_ping(out, 4)), "02000000 0e 04"),
        (Box::new(|out| put_pong(out, 4)), "02000000 0f 04"),
        (
            Box::new(|out| put_goodbye(out, "bye")),
            "06000000 10 00 03 627965",
        ),
    ]
}

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
    body(&written(|out| example().put(out, ports().into_iter()))).to_vec()
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

#[test]
fn every_kind_has_the_bytes_it_always_had() {
    for (write, expected) in golden() {
        let bytes = written(&write);
        assert_eq!(to_hex(&bytes), to_hex(&from_hex(expected)), "{expected}");
        assert_eq!(length(&bytes), Some(bytes.len()));
    }
}

#[test]
fn there_are_golden_bytes_for_every_kind() {
    let kinds: std::collections::BTreeSet<u8> = golden()
        .iter()
        .map(|(_, hex)| from_hex(hex)[LENGTH])
        .collect();
    assert!(kinds.into_iter().eq(kind::VOID..=kind::GOODBYE));
    let beyond = [kind::GOODBYE + 1, 0];
    let unknown = Frame::Unknown {
        kind: 17,
        request: 0,
    };
    assert_eq!(Frame::read(&beyond), Ok(unknown));
}

#[test]
fn golden_bytes_are_read_as_what_was_written() {
    for (_, hex) in golden() {
        let bytes = from_hex(hex);
        let frame = Frame::read(body(&bytes)).unwrap();
        assert_eq!(to_hex(&rewritten(&frame)), to_hex(&bytes), "{frame:?}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_message_is_read_as_it_was_written(
        numbers in (any::<u64>(), any::<u64>(), any::<u64>()),
        shard in proptest::option::of(1_u32..),
        kind in text(EntityKind::MAX_LEN),
        id in text(EntityId::MAX_LEN),
        ports in vec((any::<bool>(), 0_u8..0x80, any::<u64>()), 0..=MOST_PORTS),
        options in vec((any::<u8>(), vec(any::<u8>(), 0..40)), 0..5),
        payload in vec(any::<u8>(), 0..300),
    ) {
        let (request, epoch, remaining) = numbers;
        let to = shard.and_then(ShardId::new).map_or(Addressee::Actor, |shard| {
            Addressee::Entity { shard, epoch: Epoch::new(epoch) }
        });
        let tags: Vec<PortTag> = ports
            .into_iter()
            .map(|(is_stream, codec, request)| PortTag { is_stream, codec, request })
            .collect();
        let section = written(|out| {
            for (tag, value) in &options {
                out.push(*tag);
                put_section(out, value);
            }
        });
        let new = NewMessage {
            request, to, kind: &kind, id: &id, remaining, options: &section, payload: &payload,
        };
        let bytes = written(|out| new.put(out, tags.iter().copied()));
        let Ok(Frame::Message(message)) = Frame::read(body(&bytes)) else {
            panic!("no message: {bytes:?}");
        };
        prop_assert_eq!((message.request, message.to), (request, to));
        prop_assert_eq!((message.kind, message.id), (&*kind, &*id));
        prop_assert_eq!((message.remaining, message.payload), (remaining, &*payload));
        prop_assert_eq!(message.ports().collect::<Vec<_>>(), tags);
        prop_assert_eq!(message.body, body(&bytes));
        for tag in 0..=u8::MAX {
            let first = options.iter().find(|(its, _)| *its == tag);
            prop_assert_eq!(message.option(tag), first.map(|(_, value)| &**value));
        }
        let returned = written(|out| put_returned(out, &id, Epoch::new(epoch), message.body));
        let expected = Returned { owner: &id, epoch: Epoch::new(epoch), message };
        prop_assert_eq!(Frame::read(body(&returned)), Ok(Frame::Returned(expected)));
    }

    #[test]
    fn every_other_kind_is_read_as_it_was_written(
        request in any::<u64>(),
        code in any::<u64>(),
        small in any::<u32>(),
        shard in 1_u32..,
        kind in text(EntityKind::MAX_LEN),
        id in text(EntityId::MAX_LEN),
        payload in vec(any::<u8>(), 0..300),
        unknown in 17_u8..,
        last in any::<bool>(),
    ) {
        let bytes = &payload[..];
        let shard = ShardId::new(shard).unwrap();
        let expect = |write: &dyn Fn(&mut Vec<u8>), expected: Frame<'_>| {
            let bytes = written(write);
            prop_assert_eq!(Frame::read(body(&bytes)), Ok(expected));
            Ok(())
        };
        expect(&|out| put_answer(out, request, bytes), Frame::Answer { request, bytes })?;
        expect(&|out| put_item(out, request, bytes), Frame::Item { request, bytes })?;
        expect(&|out| put_part(out, bytes, last), Frame::Part { last, bytes })?;
        let reason = fault(code, &id);
        expect(&|out| put_fault(out, request, &reason), Frame::Fault { request, fault: reason.clone() })?;
        let dropped = Frame::Dropped { kind: &kind, id: &id, fault: reason.clone() };
        expect(&|out| put_dropped(out, &kind, &id, &reason), dropped)?;
        expect(&|out| put_credit(out, request, small), Frame::Credit { request, units: small })?;
        expect(&|out| put_cancel(out, request), Frame::Cancel { request })?;
        let fence = Frame::Fence { token: request, group: &kind, shard };
        expect(&|out| put_fence(out, request, &kind, shard), fence)?;
        expect(&|out| put_fenced(out, request), Frame::Fenced { token: request })?;
        expect(&|out| put_parts_read(out, code), Frame::PartsRead { bytes: code })?;
        expect(&|out| put_ping(out, request), Frame::Ping { token: request })?;
        expect(&|out| put_pong(out, request), Frame::Pong { token: request })?;
        expect(&|out| put_goodbye(out, &id), Frame::Goodbye { reason: &id })?;
        let later = Frame::Unknown { kind: unknown, request };
        expect(&|out| put(out, unknown, request, |out| out.extend_from_slice(bytes)), later)?;
    }

    #[test]
    fn any_bytes_are_a_frame_or_none(bytes in vec(any::<u8>(), 0..600)) {
        check(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_known_kind_are_a_frame_or_none(
        kind in 0..=kind::GOODBYE,
        rest in vec(prop_oneof![any::<u8>(), 0_u8..4], 0..60),
    ) {
        check(&[&[kind][..], &rest].concat());
    }

    #[test]
    fn a_damaged_frame_is_another_frame_or_none(
        which in any::<prop::sample::Index>(),
        damage in vec((any::<u8>(), any::<usize>(), any::<usize>(), any::<u8>()), 1..6),
    ) {
        let golden = golden();
        let mut bytes = from_hex(golden[which.index(golden.len())].1).split_off(LENGTH);
        for (what, at, many, value) in damage {
            Mutation { what, at, many, value }.apply(&mut bytes);
        }
        check(&bytes);
    }

    #[test]
    fn a_frame_that_ends_early_is_not_taken_for_a_whole_one(
        which in any::<prop::sample::Index>(),
        end in any::<prop::sample::Index>(),
    ) {
        let golden = golden();
        let bytes = from_hex(golden[which.index(golden.len())].1);
        let cut = end.index(bytes.len());
        // As long as the length is known, it says that something is missing.
        prop_assert!(length(&bytes[..cut]).is_none_or(|length| length > cut));
        check(bytes[..cut].get(LENGTH..).unwrap_or_default());
    }

    #[test]
    fn a_number_is_read_as_it_was_written(number in any::<u64>(), shift in 0_u32..64) {
        let number = number >> shift;
        let bytes = written(|out| put_number(out, number));
        let mut fields = Fields(&bytes);
        prop_assert_eq!(fields.number(), Ok(number));
        prop_assert!(fields.0.is_empty());
        prop_assert!(bytes.len() <= 10);
    }
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
        assert!(found.map(<[u8]>::len).sum::<usize>() <= message.options.len());
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
    match (message.to, has_ports, message.options.is_empty()) {
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
        options: message.options,
        payload: message.payload,
    };
    new.put(out, ports.into_iter());
}

#[test]
fn a_return_inside_a_return_is_refused_however_deep() {
    let mut inner = body_of_example();
    for depth in 1..2000 {
        let outer = written(|out| put_returned(out, "", Epoch::new(0), &inner));
        inner = body(&outer).to_vec();
        let read = Frame::read(&inner);
        assert_eq!(read.is_ok(), depth == 1, "{depth}");
        assert!(depth == 1 || read == Err(BadFrame::BadNumber), "{depth}");
    }
}

#[test]
fn only_a_message_can_come_back() {
    for (_, hex) in golden() {
        let frame = from_hex(hex);
        let returned = written(|out| put_returned(out, "n2", Epoch::new(1), body(&frame)));
        let read = Frame::read(body(&returned));
        assert_eq!(read.is_ok(), is_message(&frame), "{hex}");
    }
}

#[test]
fn numbers_at_the_edges() {
    let read = |hex: &str| Fields(&from_hex(hex)).number();
    assert_eq!(read("00"), Ok(0));
    assert_eq!(read("7f"), Ok(127));
    assert_eq!(read("8001"), Ok(128));
    assert_eq!(read("ffffffffffffffffff01"), Ok(u64::MAX));
    assert_eq!(read("80808080808080808001"), Ok(1 << 63));
    // More zeros than needed mean the same number, as long as they end in time.
    assert_eq!(read("8000"), Ok(0));
    assert_eq!(read("80808080808080808000"), Ok(0));
    // A bit more than there is room for, and a number that goes on.
    assert_eq!(read("ffffffffffffffffff02"), Err(BadFrame::BadNumber));
    assert_eq!(read("ffffffffffffffffff81"), Err(BadFrame::BadNumber));
    assert_eq!(read("8080808080808080808000"), Err(BadFrame::BadNumber));
    for cut in ["", "80", "ffffffffffffffffff"] {
        assert_eq!(read(cut), Err(BadFrame::Truncated), "{cut}");
    }
}

#[test]
fn numbers_that_must_be_small_are_refused_when_they_are_not() {
    let beyond = u64::from(u32::MAX) + 1;
    let credit = written(|out| put(out, kind::CREDIT, 1, |out| put_number(out, beyond)));
    assert_eq!(Frame::read(body(&credit)), Err(BadFrame::BadNumber));
    for shard in [0, beyond] {
        let fence = written(|out| {
            put(out, kind::FENCE, 1, |out| {
                put_section(out, b"default");
                put_number(out, shard);
            });
        });
        assert_eq!(
            Frame::read(body(&fence)),
            Err(BadFrame::BadNumber),
            "{shard}"
        );
    }
    let message = written(|out| put(out, kind::MESSAGE, 1, |out| put_number(out, beyond)));
    assert_eq!(Frame::read(body(&message)), Err(BadFrame::BadNumber));
    assert_eq!(Frame::read(&[kind::END, 1, 3]), Err(BadFrame::BadNumber));
}

#[test]
fn a_length_beyond_the_frame_is_refused() {
    for length in [3, u64::from(u32::MAX), u64::MAX] {
        let goodbye = written(|out| {
            put(out, kind::GOODBYE, 0, |out| {
                put_number(out, length);
                out.extend_from_slice(b"by");
            });
        });
        assert_eq!(
            Frame::read(body(&goodbye)),
            Err(BadFrame::Truncated),
            "{length}"
        );
    }
}

#[test]
fn texts_that_are_too_long_or_no_text_are_refused() {
    let read = |kind: &[u8], id: &[u8]| {
        let bytes = written(|out| {
            put(out, kind::MESSAGE, 1, |out| {
                out.push(0);
                put_section(out, kind);
                put_section(out, id);
                out.extend_from_slice(&[0, 0, 0]);
            });
        });
        Frame::read(body(&bytes)).map(|_| ())
    };
    let (kind, id) = (
        &[b'k'; EntityKind::MAX_LEN][..],
        &[b'i'; EntityId::MAX_LEN][..],
    );
    assert_eq!(read(kind, id), Ok(()));
    assert_eq!(read(&[kind, b"k"].concat(), id), Err(BadFrame::LongName));
    assert_eq!(read(kind, &[id, b"i"].concat()), Err(BadFrame::LongName));
    assert_eq!(read(b"\xff", id), Err(BadFrame::BadText));
    assert_eq!(read(kind, b"\xc3"), Err(BadFrame::BadText));
}

#[test]
fn a_message_carries_64_replies_and_not_one_more() {
    for count in [0, 1, 11, 12, MOST_PORTS, MOST_PORTS + 1, 1000] {
        let tag = |n: usize| PortTag {
            is_stream: n.is_multiple_of(2),
            codec: 3,
            request: u64::MAX - n as u64,
        };
        let bytes = written(|out| example().put(out, (0..count).map(tag)));
        match Frame::read(body(&bytes)) {
            Ok(Frame::Message(message)) => {
                assert!(count <= MOST_PORTS);
                assert!(message.ports().eq((0..count).map(tag)), "{count}");
                assert_eq!(message.payload, example().payload);
            }
            other => {
                assert!(count > MOST_PORTS, "{count}: {other:?}");
                assert_eq!(other, Err(BadFrame::ManyPorts));
            }
        }
    }
}

#[test]
fn a_reply_that_is_cut_off_makes_the_message_none() {
    let read = |ports: &[u8]| {
        let bytes = written(|out| {
            put(out, kind::MESSAGE, 1, |out| {
                out.extend_from_slice(&[0, 0, 0, 0]);
                put_section(out, ports);
                out.push(0);
            });
        });
        Frame::read(body(&bytes)).map(|_| ())
    };
    assert_eq!(read(&[1, 5]), Ok(()));
    assert_eq!(read(&[1]), Err(BadFrame::Truncated));
    assert_eq!(read(&[1, 0x80]), Err(BadFrame::Truncated));
}

#[test]
fn optional_fields_that_nobody_knows_are_skipped() {
    let options = from_hex("c8 03 112233  02 01 aa  ff 00  01 01 bb  02 01 cc");
    let message = NewMessage {
        options: &options,
        ..example()
    };
    let bytes = written(|out| message.put(out, [].into_iter()));
    let Ok(Frame::Message(message)) = Frame::read(body(&bytes)) else {
        panic!("no message");
    };
    assert_eq!(message.option(option::TRACE), Some(&[0xbb][..]));
    assert_eq!(message.option(option::CHAIN), Some(&[0xaa][..]));
    assert_eq!(message.option(option::OPENS_STREAM), None);
    assert_eq!(message.payload, example().payload);
}

#[test]
fn optional_fields_that_are_cut_off_are_not_found() {
    let options = from_hex("01 01 bb  02 05 aa");
    let message = NewMessage {
        options: &options,
        ..example()
    };
    let bytes = written(|out| message.put(out, [].into_iter()));
    let Ok(Frame::Message(message)) = Frame::read(body(&bytes)) else {
        panic!("no message");
    };
    assert_eq!(message.option(option::TRACE), Some(&[0xbb][..]));
    assert_eq!(message.option(option::CHAIN), None);
}

#[test]
fn what_is_made_void_says_nothing_but_keeps_its_length() {
    for (_, hex) in golden() {
        let mut bytes = from_hex(hex);
        make_void(&mut bytes);
        assert_eq!(length(&bytes), Some(bytes.len()));
        assert_eq!(Frame::read(body(&bytes)), Ok(Frame::Void), "{hex}");
    }
}

#[test]
fn the_longest_part_fits_the_longest_frame() {
    assert!(written(|out| put_part(out, &[0; PART], true)).len() <= MOST);
}

fn text(most: usize) -> impl Strategy<Value = String> {
    let short = "\\PC{0,20}";
    let longest = proptest::string::string_regex(&format!("[a-z]{{{most}}}")).unwrap();
    prop_oneof![9 => short, 1 => longest]
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
