//! What was written is read, and any other bytes are another frame or none.

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::link::campaign::Mutation;

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
        let bytes = written(|out| new.put(out, &tags));
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
