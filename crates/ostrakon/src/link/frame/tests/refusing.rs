//! Bytes that are nearly a frame, and what a frame may leave out or carry too much of.

use super::*;

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
        let bytes = written(|out| example().put(out, &(0..count).map(tag).collect::<Vec<_>>()));
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
    let bytes = written(|out| message.put(out, &[]));
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
    let bytes = written(|out| message.put(out, &[]));
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
