//! What is written with a codec is read back as it was, on its own and inside messages.

use ostrakon::{Codec, Entity, Node, entity};
use serde::{Deserialize, Serialize};

use crate::Setup;

twice! {
    a_record_comes_back_through_an_entity_of_each_codec,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    number: i32,
    text: String,
}

fn record() -> Record {
    Record {
        number: 2,
        text: "test".into(),
    }
}

// Shardcake, Java and Kryo serialization: the record (2, "test") survives the way there and back.
#[test]
fn a_record_survives_each_codec() {
    for codec in [Codec::MessagePack, Codec::Postcard, Codec::Json] {
        let bytes = codec.encode(&record()).unwrap();
        assert_eq!(codec.decode::<Record>(&bytes), Ok(record()), "{codec:?}");
        let cut = &bytes[..bytes.len() - 1];
        assert!(codec.decode::<Record>(cut).is_err(), "{codec:?}, cut short");
    }
}

macro_rules! echo {
    ($name:ident, $codec:literal) => {
        #[derive(Default)]
        struct $name;

        #[entity(codec = $codec)]
        impl $name {
            async fn nested(&self, records: Vec<Option<Record>>) -> (usize, Vec<Option<Record>>) {
                (records.len(), records)
            }
        }
    };
}

echo!(NamedEcho, "messagepack");
echo!(CompactEcho, "postcard");
echo!(ReadableEcho, "json");

// Shardcake, per-message codecs, and Casty, four serializers: nested values come back whole through each of them.
async fn a_record_comes_back_through_an_entity_of_each_codec(setup: Setup) {
    let builder = Node::builder("solo")
        .host::<NamedEcho>()
        .host::<CompactEcho>()
        .host::<ReadableEcho>();
    let node = setup(builder).start().await.unwrap();
    let codecs = [NamedEcho::CODEC, CompactEcho::CODEC, ReadableEcho::CODEC];
    assert_eq!(codecs, [Codec::MessagePack, Codec::Postcard, Codec::Json]);

    let sent = vec![Some(record()), None, Some(record())];
    let expected = Ok((3, sent.clone()));
    let named = node.entity::<NamedEcho>("e").nested(sent.clone()).await;
    assert_eq!(named, expected);
    let compact = node.entity::<CompactEcho>("e").nested(sent.clone()).await;
    assert_eq!(compact, expected);
    let readable = node.entity::<ReadableEcho>("e").nested(sent).await;
    assert_eq!(readable, expected);
    node.leave().await.unwrap();
}
