//! Peers that were let in and then say what makes no sense.

use ostrakon::{GroupName, StreamError};

use super::*;
use crate::{
    cluster::owned,
    handshakes::stranger::{ANSWER_PORT, NAME, STREAM_PORT, frame, kind, put_number, put_section},
};

#[tokio::test]
async fn a_frame_that_is_no_frame_ends_the_connection_with_a_reason() {
    let victim = Victim::new().await;
    let too_long = [&70_000_u32.to_le_bytes()[..], &[0; 100]].concat();
    victim.ends(&too_long, "a frame of 70004 bytes").await;
    victim.ends(&[0xFF; 64], "longer than the").await;
    victim.ends(&[0; 4], "shorter than its fields").await;
    victim
        .ends(&frame(kind::END, 1, &[9]), "a number in a frame")
        .await;
    let endless_number = frame(kind::CREDIT, 1, &[0xFF; 11]);
    victim.ends(&endless_number, "a number in a frame").await;
    let mut kind_too_long = victim.add(1);
    kind_too_long.kind = vec![b'k'; 100_000 / 2];
    victim
        .ends(&kind_too_long.frame(), "longer than allowed")
        .await;
    let mut id_too_long = victim.add(1);
    id_too_long.id = vec![b'i'; 60_000];
    victim
        .ends(&id_too_long.frame(), "longer than allowed")
        .await;
    let mut not_text = victim.add(1);
    not_text.id = vec![0xC3, 0x28];
    victim.ends(&not_text.frame(), "not UTF-8").await;
    let mut not_text = victim.add(1);
    not_text.kind = vec![0xFF];
    victim.ends(&not_text.frame(), "not UTF-8").await;
    let mut no_shard = victim.add(1);
    no_shard.shard = u64::MAX;
    victim.ends(&no_shard.frame(), "a number in a frame").await;
    let mut many = victim.add(1);
    many.ports = (1..=1000).map(|n| (ANSWER_PORT, n)).collect();
    victim.ends(&many.frame(), "more than 64 replies").await;
    let mut broken_ports = victim.add(1).fields();
    broken_ports.truncate(broken_ports.len() - victim.add(1).payload.len() - 2);
    victim
        .ends(&frame(kind::MESSAGE, 1, &broken_ports), "shorter than")
        .await;
    victim.leave().await;
}

#[tokio::test]
async fn a_return_within_a_return_is_not_followed() {
    let victim = Victim::new().await;
    let mut body = Vec::new();
    for _ in 0..10_000 {
        body.extend_from_slice(&[kind::RETURNED, 0, 0, 0]);
    }
    body.push(kind::MESSAGE);
    let length = body.len() as u32;
    let said = [&length.to_le_bytes()[..], &body].concat();
    victim.ends(&said, "a number in a frame").await;
    victim.leave().await;
}

#[tokio::test]
async fn parts_that_never_end_are_cut_off_at_the_limit() {
    let limit = 256 * 1024;
    let victim = Victim::within(Limits::default().message(limit)).await;
    let part = |last: u8, bytes: &[u8]| frame(kind::PART, 0, &[&[last], bytes].concat());
    let more = part(0, &[0; 64 * 1024]);
    let mut stranger = victim.enter().await;
    for _ in 0..4 {
        stranger.say(&more).await;
        let read = stranger.frame_of(kind::PARTS_READ).await;
        let mut expected = Vec::new();
        put_number(&mut expected, 64 * 1024);
        assert_eq!(read.fields(), expected);
    }
    // Unfinished, but within bounds: the connection goes on.
    stranger.is_heard().await;
    for _ in 0..3 {
        stranger.say(&more).await;
    }
    let words = stranger.last_words().await;
    assert!(words.contains("262144 that are allowed"), "{words}");
    // A whole that is not what it says.
    victim.ends(&part(1, b"x"), "shorter than its fields").await;
    let inner = part(1, b"x");
    victim
        .ends(&part(1, &inner), "shorter than its fields")
        .await;
    let long = [&100_u32.to_le_bytes()[..], &[1; 50]].concat();
    victim
        .ends(&part(1, &long), "shorter than its fields")
        .await;
    // Nothing at all, many times.
    let mut stranger = victim.enter().await;
    for _ in 0..1000 {
        stranger.say(&part(0, &[])).await;
    }
    stranger.is_heard().await;
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn answers_that_nobody_waits_for_are_dropped() {
    let victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    let mut dropped = Vec::new();
    put_section(&mut dropped, b"no such kind");
    put_section(&mut dropped, b"x");
    dropped.extend_from_slice(&[1, 0]);
    let mut returned = Vec::new();
    put_section(&mut returned, b"somebody");
    returned.push(3);
    returned.extend_from_slice(&victim.add(9).frame()[4..]);
    let mut fence = Vec::new();
    put_section(&mut fence, b"no such group");
    put_number(&mut fence, 4_000_000);
    for request in [0, 1, 2, 77, 1 << 20, (1 << 20) + 1, 1 << 40, u64::MAX] {
        for (kind, fields) in [
            (kind::ANSWER, &b"an answer"[..]),
            (kind::FAULT, &[9, 0]),
            (kind::FAULT, &[200, 1, 3, b'w', b'h', b'y']),
            (kind::DROPPED, &dropped),
            (kind::RETURNED, &returned),
            (kind::ITEM, &b"an item"[..]),
            (kind::END, &[0]),
            (kind::CREDIT, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
            (kind::CANCEL, &[]),
            (kind::FENCE, &fence),
            (kind::FENCED, &[]),
            (kind::PARTS_READ, &[0xFF, 0xFF, 0x7F]),
            (kind::PONG, &[]),
            (0, b"nothing"),
        ] {
            stranger.say(&frame(kind, request, fields)).await;
            stranger.is_heard().await;
        }
    }
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn a_message_that_cannot_be_delivered_is_answered_and_nothing_more() {
    let victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    let mut request = 0;
    let mut refused = async |change: &dyn Fn(&mut Letter)| {
        request += 1;
        let mut letter = victim.add(request);
        change(&mut letter);
        stranger.say(&letter.frame()).await;
        let fault = stranger.frame_of(kind::FAULT).await;
        assert_eq!(fault.request(), request);
        fault.fault()
    };
    let unknown_kind = refused(&|letter| letter.kind = b"no such kind".to_vec()).await;
    assert_eq!(unknown_kind.0, 1);
    refused(&|letter| letter.id.clear()).await;
    // Another shard than its id has; one that there is not.
    refused(&|letter| letter.shard = letter.shard % 12 + 1).await;
    refused(&|letter| letter.shard = 1_000_000).await;
    assert_eq!(refused(&|letter| letter.payload.clear()).await.0, 4);
    assert_eq!(
        refused(&|letter| letter.payload = vec![0xC1; 500]).await.0,
        4
    );
    assert_eq!(
        refused(&|letter| letter.payload = vec![0x91; 20_000])
            .await
            .0,
        4
    );
    // Replies that are not there, or of another sort.
    assert_eq!(refused(&|letter| letter.ports.clear()).await.0, 4);
    let stream = |letter: &mut Letter| letter.ports = vec![(STREAM_PORT, 99)];
    assert_eq!(refused(&stream).await.0, 4);
    let codec = refused(&|letter| letter.ports[0].0 = 42).await;
    assert!(codec.1.contains("codec 42 is unknown here"), "{codec:?}");
    // As to an actor, and its ask.
    let nobody = refused(&|letter| letter.shard = 0).await;
    assert_ne!(nobody.0, 0);
    assert_eq!(victim.ledger().add(5).await.unwrap(), 1);
    let ledger =
        victim.cluster.nodes[1].entity::<Ledger>(&victim.cluster.ids_on(0).nth(1).unwrap());
    assert_eq!(ledger.entries().await.unwrap(), [] as [u64; 0]);
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn requests_of_the_same_number_do_no_harm() {
    let victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    for _ in 0..100 {
        let mut letter = victim.add(5);
        letter.ports = vec![(ANSWER_PORT, 5), (ANSWER_PORT, 5), (STREAM_PORT, 5)];
        stranger.say(&letter.frame()).await;
    }
    stranger.is_heard().await;
    victim.leave_with(stranger).await;
}

#[tokio::test]
async fn items_beyond_the_credit_end_the_connection() {
    let mut victim = Victim::new().await;
    let mut stranger = victim.enter().await;
    stranger.is_heard().await;
    // One shard belongs to the stranger.
    let id = victim.cluster.ids_on(0).nth(1).unwrap();
    let shard = victim.cluster.shard(&id);
    let name = ostrakon::NodeName::new(NAME).unwrap();
    let map = &victim.cluster.map;
    let map = map.with(&GroupName::default(), shard, owned(&name, 2));
    victim.cluster.map = map;
    for node in &victim.cluster.nodes {
        testing::adopt(node, &victim.cluster.map).await;
    }
    let ledger = victim.cluster.nodes[0].entity::<Ledger>(&id);
    let opened = tokio::spawn(async move { ledger.sized(vec![1; 10]).await });
    let message = stranger.frame_of(kind::MESSAGE).await;
    let opening = message.request();
    // The stream is the other request that the message brings.
    let items = (1..=opening + 4).filter(|n| *n != opening);
    stranger.say(&frame(kind::ANSWER, opening, &[])).await;
    let mut stream = tokio::time::timeout(SOON, opened)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    for request in items {
        // One unit each, of the 64 that nobody has asked for more than.
        for _ in 0..64 {
            stranger
                .say(&frame(kind::ITEM, request, &[0xC4, 1, 7]))
                .await;
        }
    }
    stranger.is_heard().await;
    for request in 1..=opening + 4 {
        stranger
            .say(&frame(kind::ITEM, request, &[0xC4, 1, 7]))
            .await;
    }
    let words = stranger.last_words().await;
    assert!(
        words.contains("more of a stream than it was allowed"),
        "{words}"
    );
    let mut items = 0;
    let end = loop {
        match stream.next().await {
            Some(Ok(_)) => items += 1,
            end => break end,
        }
    };
    assert_eq!(end, Some(Err(StreamError::Interrupted)));
    assert_eq!(items, 64);
    victim.cluster.leave().await;
}

/// A conversation after the handshake with something of everything.
fn conversation(victim: &Victim) -> Vec<u8> {
    let mut letter = victim.letter(
        3,
        &Said::Refuse {
            why: "no".to_owned(),
            reply: Some(0),
        },
    );
    letter.options.push(1);
    put_section(&mut letter.options, &[7; 25]);
    let mut fence = Vec::new();
    put_section(&mut fence, b"default");
    put_number(&mut fence, letter.shard);
    let mut part = vec![1];
    part.extend_from_slice(&victim.add(4).frame());
    [
        letter.frame(),
        frame(kind::FENCE, 8, &fence),
        frame(kind::PART, 0, &part),
        frame(kind::CANCEL, 3, &[]),
        frame(kind::PING, 6, &[]),
    ]
    .concat()
}

#[tokio::test]
async fn a_conversation_may_end_anywhere() {
    let victim = Victim::new().await;
    let all = conversation(&victim);
    for length in 0..all.len() {
        let mut stranger = victim.enter().await;
        stranger.say(&all[..length]).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
    }
    victim.leave().await;
}

#[tokio::test]
async fn every_bit_of_a_conversation_may_be_flipped() {
    let victim = Victim::new().await;
    let mut all = conversation(&victim);
    for bit in 0..all.len() * 8 {
        all[bit / 8] ^= 1 << (bit % 8);
        let mut stranger = victim.enter().await;
        stranger.say(&all).await;
        stranger.fall_silent().await;
        stranger.until_closed().await;
        all[bit / 8] ^= 1 << (bit % 8);
        if bit % 256 == 0 {
            victim.is_well().await;
        }
    }
    victim.leave().await;
}
