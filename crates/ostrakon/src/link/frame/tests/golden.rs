//! The bytes of each kind, which never change.

use std::panic::RefUnwindSafe;

use super::*;

/// Writes one frame.
pub(super) type Writer = Box<dyn Fn(&mut Vec<u8>) + RefUnwindSafe>;

/// One of each kind, and its bytes as every version must write and read them.
pub(super) fn golden() -> Vec<(Writer, &'static str)> {
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
            Box::new(|out| example().put(out, &ports())),
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
                actor.put(out, &[]);
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
