//! The words themselves: their bytes, and what is read of those that are damaged, cut off or of a later version.

use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::*;
use crate::link::campaign::Mutation;

#[test]
fn the_opening_has_the_bytes_it_always_had() {
    let text =
        b"\x89\xa7cluster\xa4test\xa4node\xa2n2\xabincarnation\x07\xa2to\xa2n1\xa7purpose\xa4Data\
        \xa7session\x00\xa6groups\x91\x83\xa4name\xa7default\xa6shards\x08\xa4hash\xa6stable\
        \xa7message\xce\x00\x10\x00\x00\xa8features\x90";
    let length = text.len() as u8;
    let expected = [&b"OSTRAKON\x01\0\x01\0"[..], &[length, 0, 0, 0], text].concat();
    let said = opening(OLDEST, NEWEST, &hello());
    assert_eq!(
        said.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
    assert_eq!(heard_hello(&expected).unwrap(), Ok(hello()));
}

#[test]
fn the_answers_have_the_bytes_they_always_had() {
    let welcome = Judgement::Welcome(a_welcome());
    let expected = b"\x59\0\0\0\x81\xa7Welcome\x88\xa7version\x01\xa4node\xa2n1\xabincarnation\x05\xa7session\x09\
        \xa4turn\x03\xa9challenge\x2a\xa7message\xce\x00\x10\x00\x00\xa8features\x90";
    assert_eq!(
        text(&welcome).escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
    let refused = Judgement::Refused("why".to_owned());
    assert_eq!(text(&refused), b"\x0d\0\0\0\x81\xa7Refused\xa3why");
    assert_eq!(
        text(&Ready { challenge: 42 }),
        b"\x0c\0\0\0\x81\xa9challenge\x2a"
    );
}

#[test]
fn fields_that_nobody_knows_are_skipped() {
    let mut later = serde_json::to_value(hello()).unwrap();
    later["colour"] = json!({ "name": "blue", "parts": [1, 2.5, null, "x"] });
    later["groups"][0]["weights"] = json!([1, 2, 3]);
    assert_eq!(heard_hello(&opening(1, 2, &later)).unwrap(), Ok(hello()));
    let mut welcome = serde_json::to_value(a_welcome()).unwrap();
    welcome["motto"] = json!("x");
    let said = text(&json!({ "Welcome": welcome }));
    assert_eq!(heard_dialing(&said).unwrap(), a_welcome());
}

#[test]
fn fields_that_came_later_may_be_missing_and_others_may_not() {
    let all = serde_json::to_value(hello()).unwrap();
    for field in all.as_object().unwrap().keys() {
        let mut less = all.clone();
        less.as_object_mut().unwrap().remove(field);
        let read = heard_hello(&opening(1, 1, &less));
        let may_be_missing = ["session", "groups", "features"].contains(&&**field);
        assert_eq!(read.is_ok(), may_be_missing, "{field}: {read:?}");
    }
}

#[test]
fn a_stranger_is_known_by_its_first_words() {
    for said in [
        "GET / HTTP/1.1\r\nHost: n1\r\n\r\n",
        "\x16\x03\x01\x02\0\x01\0\x01\u{7c}\x03\x03\x20",
    ] {
        let heard = heard_hello(said.as_bytes());
        assert!(
            matches!(heard, Err(HandshakeError::Stranger(_))),
            "{heard:?}"
        );
    }
}

#[test]
fn a_text_that_is_announced_as_too_long_is_not_waited_for() {
    for length in [MOST as u32 + 1, u32::MAX] {
        let mut said = opening(1, 1, &hello());
        said.truncate(12);
        said.extend_from_slice(&length.to_le_bytes());
        let refused = heard_hello(&said);
        let Err(HandshakeError::Stranger(why)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(why, "it says more than a handshake needs");
    }
}

#[test]
fn no_more_is_read_than_was_announced() {
    let follows = vec![b'?'; 300_000];
    for length in [0, 1, MOST] {
        let announced = (length as u32).to_le_bytes();
        let said = [
            &MAGIC[..],
            &[1, 0, 1, 0],
            &announced,
            &vec![0; length],
            &follows,
        ]
        .concat();
        let left = heard(&said, async |secured| {
            let read = read_hello(&mut secured.wire).await;
            assert!(matches!(read, Err(HandshakeError::Stranger(_))), "{read:?}");
            let mut left = Vec::new();
            secured.wire.read_to_end(&mut left).await.unwrap();
            left
        });
        assert!(left == follows, "{length}");
    }
}

#[test]
fn one_who_leaves_early_is_not_taken_for_another() {
    let whole = opening(1, 1, &hello());
    for end in 0..whole.len() {
        let heard = heard_hello(&whole[..end]);
        let Err(HandshakeError::Io(error)) = heard else {
            panic!("{end}: {heard:?}");
        };
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{end}");
    }
}

#[test]
fn texts_that_announce_more_than_they_have_are_unreadable() {
    let map_of = |field: &str, value: &[u8]| {
        let mut text = vec![0x81, 0xa0 | field.len() as u8];
        text.extend_from_slice(field.as_bytes());
        text.extend_from_slice(value);
        let length = (text.len() as u32).to_le_bytes();
        [&MAGIC[..], &[1, 0, 1, 0], &length, &text].concat()
    };
    let endless = vec![0x91; MOST - 16];
    let cases: [(&str, &[u8]); 6] = [
        ("groups", b"\xdd\xff\xff\xff\xff"),
        ("features", b"\xdd\xff\xff\xff\xff\xa0"),
        ("cluster", b"\xdb\xff\xff\xff\xffx"),
        ("colour", b"\xdf\xff\xff\xff\xff"),
        ("colour", &endless),
        ("groups", &endless),
    ];
    for (field, value) in cases {
        let heard = heard_hello(&map_of(field, value));
        assert!(
            matches!(heard, Err(HandshakeError::Stranger(_))),
            "{field}: {heard:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_words_come_to_an_end(role in 0..3_u8, said in vec(any::<u8>(), 0..300)) {
        check(&[&[role][..], &said].concat());
    }

    #[test]
    fn any_text_after_a_proper_opening_comes_to_an_end(said in vec(any::<u8>(), 0..300)) {
        let length = (said.len() as u32).to_le_bytes();
        check(&[&[0][..], &MAGIC, &[1, 0, 1, 0], &length, &said].concat());
    }

    #[test]
    fn damaged_words_come_to_an_end(
        which in 0..4_usize,
        damage in vec((any::<u8>(), any::<usize>(), any::<usize>(), any::<u8>()), 1..6),
    ) {
        let mut said = examples().remove(which).split_off(1);
        for (what, at, many, value) in damage {
            Mutation { what, at, many, value }.apply(&mut said);
        }
        (0..3).for_each(|role| drop(check(&[&[role][..], &said].concat())));
    }

    #[test]
    fn a_hello_is_read_as_it_was_said(
        texts in vec("\\PC{0,20}", 5),
        numbers in (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>()),
        features in vec("\\PC{0,20}", 0..5),
    ) {
        let [cluster, node, to, name, hash] = texts.try_into().unwrap();
        let (incarnation, session, message, shards) = numbers;
        let hello = Hello {
            cluster, node, incarnation, to, session, message, features,
            purpose: Purpose::Control,
            groups: vec![Group { name, shards, hash }],
        };
        let said = opening(OLDEST, NEWEST, &hello);
        prop_assert_eq!(heard_hello(&said).unwrap(), Ok(hello));
    }
}
