use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::*;

const ALL: [Codec; 3] = [Codec::MessagePack, Codec::Postcard, Codec::Json];

mod old {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    pub(super) struct Move {
        pub(super) x: i32,
        pub(super) gone: Option<String>,
    }
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    pub(super) enum Event {
        Started,
        Moved(Move),
    }
}

mod new {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    pub(super) struct Move {
        pub(super) x: i32,
        #[serde(default)]
        pub(super) speed: u8,
        pub(super) note: Option<String>,
    }
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    pub(super) enum Event {
        Stopped { at: u64 },
        Started,
        Moved(Move),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Tree {
    Leaf,
    Node(Box<Self>),
    Many { children: Vec<Self> },
}

type Rich = (
    BTreeMap<String, Option<Vec<u8>>>,
    Result<(u128, i128, char), String>,
    [f64; 2],
    (),
);

fn rich() -> Rich {
    let map = BTreeMap::from([("a".to_owned(), Some(vec![1, 2])), ("b".to_owned(), None)]);
    (map, Ok((u128::MAX >> 1, -7, 'ß')), [0.1, -1e300], ())
}

fn crosses<A: Payload, B: Payload>(codec: Codec, value: &A) -> Result<B, CodecError> {
    codec.decode(&codec.encode(value)?)
}

#[test]
fn values_come_back_as_they_went() {
    for codec in ALL {
        assert_eq!(crosses::<Rich, Rich>(codec, &rich()).unwrap(), rich());
        let error: Result<u8, String> = Err("no".to_owned());
        assert_eq!(
            crosses::<_, Result<u8, String>>(codec, &error).unwrap(),
            error
        );
    }
}

#[test]
fn wire_numbers_are_fixed() {
    assert_eq!(ALL.map(Codec::id), [1, 2, 3]);
    assert_eq!(ALL.map(|codec| Codec::from_id(codec.id())), ALL.map(Some));
    assert_eq!((Codec::from_id(0), Codec::from_id(4)), (None, None));
}

#[test]
fn self_describing_codecs_bridge_added_and_removed_fields() {
    for codec in [Codec::MessagePack, Codec::Json] {
        let old = old::Event::Moved(old::Move {
            x: 1,
            gone: Some("x".to_owned()),
        });
        let new = new::Event::Moved(new::Move {
            x: 1,
            speed: 0,
            note: None,
        });
        assert_eq!(crosses::<_, new::Event>(codec, &old).unwrap(), new);
        let back = old::Event::Moved(old::Move { x: 1, gone: None });
        assert_eq!(crosses::<_, old::Event>(codec, &new).unwrap(), back);
        let started: new::Event = crosses(codec, &old::Event::Started).unwrap();
        assert_eq!(started, new::Event::Started);
    }
}

#[test]
fn an_unknown_variant_is_named_in_the_error() {
    for codec in [Codec::MessagePack, Codec::Json] {
        let error = crosses::<_, old::Event>(codec, &new::Event::Stopped { at: 1 });
        let message = error.unwrap_err().to_string();
        assert!(message.contains("unknown variant `Stopped`"), "{message}");
    }
}

#[test]
fn postcard_refuses_another_version_and_says_what_to_do() {
    let error = crosses::<_, new::Event>(Codec::Postcard, &old::Event::Started).unwrap_err();
    assert!(
        matches!(error, CodecError::SchemaMismatch { .. }),
        "{error}"
    );
    let message = error.to_string();
    assert!(message.contains("different version of `"), "{message}");
    assert!(
        message.ends_with("use MessagePack for types that evolve"),
        "{message}"
    );
}

#[test]
fn postcard_refuses_types_without_a_schema_both_ways() {
    let error = Codec::Postcard.encode(&Tree::Leaf).unwrap_err();
    assert!(matches!(error, CodecError::Schema { .. }), "{error}");
    assert_eq!(Codec::Postcard.decode::<Tree>(&[0; 16]).unwrap_err(), error);
}

#[test]
fn bytes_after_the_value_are_refused() {
    for codec in ALL {
        for tail in [&b"0"[..], b"\xc0", b"\xd9", b"\x91", &[0x91; 4096]] {
            let mut bytes = codec.encode(&rich()).unwrap();
            bytes.extend_from_slice(tail);
            let error = codec.decode::<Rich>(&bytes).unwrap_err();
            assert!(matches!(error, CodecError::TrailingBytes { .. }), "{error}");
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    for codec in ALL {
        let bytes = codec.encode(&rich()).unwrap();
        for end in 0..bytes.len() {
            let error = codec.decode::<Rich>(&bytes[..end]).unwrap_err();
            assert!(matches!(error, CodecError::Decode { .. }), "{error}");
        }
    }
}

#[test]
fn every_flipped_bit_ends_in_a_value_or_an_error() {
    for codec in ALL {
        let bytes = codec.encode(&rich()).unwrap();
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            match codec.decode::<Rich>(&bytes) {
                Ok(value) => drop(codec.encode(&value).unwrap()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}

fn refuses<T: Payload + Debug>(codec: Codec, bytes: &[u8]) {
    let error = codec.decode::<T>(bytes).unwrap_err();
    assert!(matches!(error, CodecError::Decode { .. }), "{error}");
}

#[test]
fn declared_lengths_beyond_the_input_are_refused_at_once() {
    for marker in [0xc6, 0xc9, 0xdb, 0xdd, 0xdf] {
        let bytes = [marker, 0xff, 0xff, 0xff, 0xff, 1, 1];
        refuses::<Vec<u64>>(Codec::MessagePack, &bytes);
        refuses::<String>(Codec::MessagePack, &bytes);
        refuses::<BTreeMap<u8, [u64; 8]>>(Codec::MessagePack, &bytes);
        refuses::<Rich>(Codec::MessagePack, &bytes);
    }
    let huge = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1,
    ];
    let behind_hash = |empty: Vec<u8>| [&empty[..8], &huge].concat();
    let list = behind_hash(Codec::Postcard.encode(&Vec::<u64>::new()).unwrap());
    refuses::<Vec<u64>>(Codec::Postcard, &list);
    let text = behind_hash(Codec::Postcard.encode(&String::new()).unwrap());
    refuses::<String>(Codec::Postcard, &text);
}

#[test]
fn depth_bombs_are_refused_before_the_stack_is_gone() {
    const LEVELS: usize = 200_000;
    refuses::<Tree>(Codec::MessagePack, &b"\x81\xa4Node".repeat(LEVELS));
    refuses::<Tree>(Codec::MessagePack, &b"\x81\x01".repeat(LEVELS));
    refuses::<Tree>(
        Codec::MessagePack,
        &b"\x81\xa4Many\x81\xa8children\x91".repeat(LEVELS),
    );
    refuses::<IgnoresAll>(Codec::MessagePack, &[0x91; LEVELS]);
    refuses::<Tree>(Codec::Json, &br#"{"Node":"#.repeat(LEVELS));
    refuses::<Tree>(Codec::Json, &br#"{"Many":{"children":["#.repeat(LEVELS));
    refuses::<IgnoresAll>(Codec::Json, &b"[".repeat(LEVELS));
}

#[derive(Debug, Serialize, Deserialize)]
struct IgnoresAll {}

#[test]
fn nesting_within_reason_comes_back() {
    let deep = (0..40).fold(Tree::Leaf, |tree, _| Tree::Node(Box::new(tree)));
    let deep = (0..20).fold(deep, |tree, _| Tree::Many {
        children: vec![tree, Tree::Leaf],
    });
    for codec in [Codec::MessagePack, Codec::Json] {
        assert_eq!(crosses::<_, Tree>(codec, &deep).unwrap(), deep);
    }
}

#[test]
fn a_failed_encoding_leaves_the_buffer_as_it_was() {
    #[derive(Deserialize)]
    struct Stubborn;
    impl Serialize for Stubborn {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("will not"))
        }
    }
    for codec in ALL {
        let mut out = vec![7];
        let error = codec
            .encode_into(&(vec![1_u8, 2], Stubborn), &mut out)
            .unwrap_err();
        assert!(matches!(error, CodecError::Encode { .. }), "{error}");
        assert_eq!(out, [7]);
    }
}
