//! The handshake: who is let in, and what becomes of those who say something else.

use futures_util::FutureExt;
use ostrakon_core::{CustomHash, ShardCount};
use proptest::{collection::vec, prelude::*};
use serde_json::json;
use tokio::io::duplex;

use super::*;
use crate::link::campaign::{Campaign, Mutation};

fn me() -> Me {
    node("n1", 5)
}

fn other() -> Me {
    node("n2", 7)
}

fn node(name: &str, incarnation: u64) -> Me {
    let group = ShardGroup {
        name: "default".parse().unwrap(),
        count: ShardCount::new(8).unwrap(),
        hash: ShardHash::Stable,
    };
    Me {
        cluster: "test".to_owned(),
        name: NodeName::new(name).unwrap(),
        incarnation: Incarnation::new(incarnation),
        groups: vec![group],
        message: 1 << 20,
    }
}

/// What `other` says to `me`.
fn hello() -> Hello {
    other().hello(&me().name, Purpose::Data, 0)
}

fn identity(role: Role, name: &str) -> Option<Identity> {
    Some(Identity::new("test", role, name).unwrap())
}

fn opening(oldest: u16, newest: u16, text: &impl Serialize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&oldest.to_le_bytes());
    bytes.extend_from_slice(&newest.to_le_bytes());
    put_text(&mut bytes, text).unwrap();
    bytes
}

fn text(text: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_text(&mut bytes, text).unwrap();
    bytes
}

/// Lets `part` listen to somebody who says this and then nothing more, for ever: it must come to an end by itself.
fn heard<T>(said: &[u8], part: impl AsyncFnOnce(&mut Secured) -> T) -> T {
    let (near, mut far) = duplex(1 << 20);
    let all = async {
        far.write_all(said).await?;
        far.shutdown().await
    };
    all.now_or_never().expect("there is room").unwrap();
    let mut secured = Secured {
        wire: Box::new(near),
        identity: None,
    };
    let ended = part(&mut secured).now_or_never();
    ended.expect("nobody waits for one who has left")
}

fn heard_hello(said: &[u8]) -> Result<Result<Hello, Refusal>, HandshakeError> {
    heard(said, async |secured| read_hello(&mut secured.wire).await)
}

fn heard_dialing(said: &[u8]) -> Result<Welcome, HandshakeError> {
    let (me, to) = (other(), me().name);
    heard(said, async |secured| {
        dial(&me, secured, &to, Purpose::Data, 0).await
    })
}

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

fn a_welcome() -> Welcome {
    Welcome {
        version: NEWEST,
        node: "n1".to_owned(),
        incarnation: 5,
        session: 9,
        turn: 3,
        challenge: 42,
        message: 1 << 20,
        features: Vec::new(),
    }
}

#[test]
fn those_who_fit_are_let_in() {
    let unknown_group = Group {
        name: "other".to_owned(),
        shards: 3,
        hash: "later".to_owned(),
    };
    let with_groups = |groups| Hello { groups, ..hello() };
    let more = [hello().groups, vec![unknown_group.clone()]].concat();
    let cases = [
        (hello(), None),
        (hello(), identity(Role::Node, "n2")),
        (with_groups(Vec::new()), None),
        (with_groups(vec![unknown_group]), None),
        (with_groups(more), None),
    ];
    for (hello, identity) in cases {
        let judged = me().judge(&hello, identity.as_ref());
        assert_eq!(judged, Ok(other().name), "{hello:?}");
    }
}

#[test]
fn those_who_do_not_fit_are_refused_with_the_reason() {
    let n1 = || me().name;
    let told = |change: fn(&mut Hello), identity: Option<Identity>| {
        let mut hello = hello();
        change(&mut hello);
        me().judge(&hello, identity.as_ref()).unwrap_err()
    };
    let other_cluster = Refusal::OtherCluster {
        ours: "test".to_owned(),
        theirs: "prod".to_owned(),
    };
    assert_eq!(
        told(|hello| hello.cluster = "prod".to_owned(), None),
        other_cluster
    );
    for name in ["", "no name", "n/2", "\u{e9}"] {
        let hello = Hello {
            node: name.to_owned(),
            ..hello()
        };
        let name = name.to_owned();
        assert_eq!(me().judge(&hello, None), Err(Refusal::BadName { name }));
    }
    let not_me = Refusal::NotMe {
        wanted: "n3".to_owned(),
        me: n1(),
    };
    assert_eq!(told(|hello| hello.to = "n3".to_owned(), None), not_me);
    let same = Refusal::SameName { name: n1() };
    assert_eq!(told(|hello| hello.node = "n1".to_owned(), None), same);
    for role in [Role::Manager, Role::Admin] {
        let wrong = Refusal::WrongRole {
            role: role.to_string(),
        };
        assert_eq!(told(|_| (), identity(role, "n2")), wrong);
    }
    let another = Refusal::OtherIdentity {
        proven: "n3".to_owned(),
        said: "n2".to_owned(),
    };
    for role in [Role::Node, Role::Client] {
        assert_eq!(told(|_| (), identity(role, "n3")), another);
    }
    let group = |theirs: &str| Refusal::OtherGroup {
        group: "default".to_owned(),
        ours: "8 shards by hash `stable`".to_owned(),
        theirs: theirs.to_owned(),
    };
    let fewer = told(|hello| hello.groups[0].shards = 7, None);
    assert_eq!(fewer, group("7 shards by hash `stable`"));
    let hashed = told(|hello| hello.groups[0].hash = "md5".to_owned(), None);
    assert_eq!(hashed, group("8 shards by hash `md5`"));
}

#[test]
fn a_client_is_let_in_under_a_name_that_no_node_can_have() {
    let judged = me().judge(&hello(), identity(Role::Client, "n2").as_ref());
    assert_eq!(judged, Ok(NodeName::new("client=n2").unwrap()));
    assert_ne!(judged, Ok(other().name));
    // Nobody is let in under that name who is not this client.
    assert!(Identity::new("test", Role::Node, "client=n2").is_err());
    // A name that leaves no room for the difference is none.
    let long = "x".repeat(NodeName::MAX_LEN);
    let hello = Hello {
        node: long.clone(),
        ..hello()
    };
    let judged = me().judge(&hello, identity(Role::Client, &long).as_ref());
    assert!(matches!(judged, Err(Refusal::BadName { .. })), "{judged:?}");
    let judged = me().judge(&hello, identity(Role::Node, &long).as_ref());
    assert_eq!(judged, Ok(NodeName::new(&long).unwrap()));
}

#[test]
fn a_group_said_twice_must_be_ours_both_times() {
    let mut hello = hello();
    let mut second = hello.groups[0].clone();
    second.shards = 9;
    hello.groups.push(second);
    let judged = me().judge(&hello, None);
    assert!(
        matches!(judged, Err(Refusal::OtherGroup { .. })),
        "{judged:?}"
    );
}

#[test]
fn every_hash_has_its_own_name() {
    let custom = CustomHash::new("mine", |_, _| 1);
    let hashes = [
        (ShardHash::Stable, "stable"),
        (ShardHash::Java, "java"),
        (ShardHash::Md5, "md5"),
        (ShardHash::Custom(custom), "custom mine"),
    ];
    for (hash, name) in hashes {
        let group = ShardGroup {
            hash,
            ..me().groups.remove(0)
        };
        assert_eq!(Group::of(&group).hash, name);
    }
}

#[test]
fn versions_that_do_not_meet_are_refused_before_the_text_is_read() {
    for (oldest, newest) in [(0, 0), (2, 2), (2, 9), (u16::MAX, u16::MAX)] {
        let mut said = opening(oldest, newest, &hello());
        said.truncate(12);
        let refused = heard_hello(&said).unwrap();
        assert_eq!(refused, Err(Refusal::Version { oldest, newest }));
    }
    for (oldest, newest) in [(0, 1), (1, 1), (1, 2), (0, u16::MAX)] {
        let said = opening(oldest, newest, &hello());
        assert_eq!(heard_hello(&said).unwrap(), Ok(hello()));
    }
}

#[test]
fn one_who_answers_is_judged_too() {
    let told = |change: fn(&mut Welcome), identity: Option<Identity>| {
        let mut welcome = a_welcome();
        change(&mut welcome);
        other().judge_welcome(&welcome, &me().name, identity.as_ref())
    };
    assert_eq!(told(|_| (), None), Ok(()));
    assert_eq!(told(|_| (), identity(Role::Node, "n1")), Ok(()));
    let elsewhere = Refusal::NotMe {
        wanted: "n1".to_owned(),
        me: NodeName::new("n3").unwrap(),
    };
    assert_eq!(
        told(|welcome| welcome.node = "n3".to_owned(), None),
        Err(elsewhere)
    );
    let bad = Refusal::BadName {
        name: String::new(),
    };
    assert_eq!(told(|welcome| welcome.node.clear(), None), Err(bad));
    let proven = Refusal::OtherIdentity {
        proven: "n3".to_owned(),
        said: "n1".to_owned(),
    };
    assert_eq!(told(|_| (), identity(Role::Node, "n3")), Err(proven));
    let role = "client".to_owned();
    assert_eq!(
        told(|_| (), identity(Role::Client, "n1")),
        Err(Refusal::WrongRole { role })
    );
    for version in [0, 2] {
        let welcome = Welcome {
            version,
            ..a_welcome()
        };
        let (oldest, newest) = (version, version);
        let judged = other().judge_welcome(&welcome, &me().name, None);
        assert_eq!(judged, Err(Refusal::Version { oldest, newest }));
    }
}

#[tokio::test]
async fn two_nodes_that_fit_let_each_other_in() {
    let (near, far) = duplex(64);
    let mut secured = Secured {
        wire: Box::new(near),
        identity: None,
    };
    let (me, other) = (me(), other());
    let accept = async {
        let mut wire: Box<dyn Wire> = Box::new(far);
        let hello = read_hello(&mut wire).await.unwrap().unwrap();
        me.judge(&hello, None).unwrap();
        welcome(&me, &mut wire, 9, 3).await.unwrap();
        hello
    };
    let dial = dial(&other, &mut secured, &me.name, Purpose::Control, 4);
    let (hello, welcome) = tokio::join!(accept, dial);
    let welcome = welcome.unwrap();
    assert_eq!((hello.session, hello.purpose), (4, Purpose::Control));
    assert_eq!(
        (welcome.session, welcome.turn, welcome.incarnation),
        (9, 3, 5)
    );
}

#[tokio::test]
async fn every_refusal_is_told_to_the_dialer_in_the_words_of_the_log() {
    for refusal in refusals() {
        let (near, far) = duplex(4096);
        let mut wire: Box<dyn Wire> = Box::new(far);
        refuse(&mut wire, &refusal).await.unwrap();
        let mut secured = Secured {
            wire: Box::new(near),
            identity: None,
        };
        let (other, me) = (other(), me());
        let dialed = dial(&other, &mut secured, &me.name, Purpose::Data, 0).await;
        let Err(HandshakeError::RefusedByPeer(reason)) = dialed else {
            panic!("{dialed:?}");
        };
        assert_eq!(reason, refusal.to_string());
    }
}

fn refusals() -> Vec<Refusal> {
    let (text, name) = (|| "x".repeat(64), || me().name);
    vec![
        Refusal::Version {
            oldest: 2,
            newest: 3,
        },
        Refusal::OtherCluster {
            ours: text(),
            theirs: text(),
        },
        Refusal::NotMe {
            wanted: text(),
            me: name(),
        },
        Refusal::BadName { name: text() },
        Refusal::SameName { name: name() },
        Refusal::OtherGroup {
            group: text(),
            ours: text(),
            theirs: text(),
        },
        Refusal::OtherIdentity {
            proven: text(),
            said: text(),
        },
        Refusal::WrongRole { role: text() },
        Refusal::Simultaneous { winner: name() },
        Refusal::OldIncarnation,
        Refusal::NoSession,
        Refusal::Leaving,
    ]
}

#[test]
fn a_recorded_conversation_is_of_no_use() {
    let ready = text(&Ready { challenge: 42 });
    let welcomed = heard(&ready, async |secured| {
        welcome(&me(), &mut secured.wire, 9, 3).await
    });
    assert!(
        matches!(welcomed, Err(HandshakeError::Stranger(_))),
        "{welcomed:?}"
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

#[test]
fn what_a_stranger_says_is_short_in_the_log() {
    let long = "\u{1f3fa}".repeat(10_000);
    let changes: [fn(&mut Hello, String); 4] = [
        |hello, long| hello.cluster = long,
        |hello, long| hello.node = long,
        |hello, long| hello.to = long,
        |hello, long| hello.groups[0].hash = long,
    ];
    for change in changes {
        let mut hello = hello();
        change(&mut hello, long.clone());
        let refusal = me().judge(&hello, None).unwrap_err().to_string();
        assert!(refusal.chars().count() < 300, "{refusal}");
    }
    let said = text(&Judgement::Refused(long));
    let refused = heard_dialing(&said).unwrap_err().to_string();
    assert!(refused.chars().count() < 600, "{refused}");
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

/// The bounded campaign of `cargo test`, the long one of `cargo xtask fuzz --only handshake`.
#[test]
fn campaign_of_the_handshake() {
    Campaign::run("handshake", 20_000, examples(), check);
}

/// One for each part that is to be played, and a refusal.
fn examples() -> Vec<Vec<u8>> {
    let said = |role: u8, said: Vec<u8>| [&[role][..], &said].concat();
    vec![
        said(0, opening(1, 1, &hello())),
        said(1, text(&Judgement::Welcome(a_welcome()))),
        said(2, text(&Ready { challenge: 42 })),
        said(1, text(&Judgement::Refused("why".to_owned()))),
    ]
}

/// The first byte says which part of a handshake hears the others. Says what it was and how it ended.
fn check(input: &[u8]) -> (u8, String) {
    let (role, said) = input.split_first().unwrap_or((&0, &[]));
    let role = role % 3;
    let ended = match role {
        0 => heard_hello(said).map(|hello| match hello {
            Ok(hello) => verdict(me().judge(&hello, None)),
            refused => verdict(refused),
        }),
        1 => heard_dialing(said).map(|_| "welcome".to_owned()),
        _ => heard(said, async |secured| {
            welcome(&me(), &mut secured.wire, 9, 3).await
        })
        .map(|()| panic!("nobody can guess the challenge")),
    };
    let ended = ended.unwrap_or_else(|error| {
        assert!(error.to_string().chars().count() < 1000);
        match error {
            HandshakeError::Stranger(why) => why.to_owned(),
            HandshakeError::Refused(refusal) => verdict(Err::<(), _>(refusal)),
            HandshakeError::RefusedByPeer(_) => "refused by peer".to_owned(),
            HandshakeError::Io(error) => format!("{:?}", error.kind()),
            HandshakeError::Late(_) => panic!("nobody looks at a clock"),
        }
    });
    (role, ended)
}

/// The name of the refusal, if it is one.
fn verdict<T>(judged: Result<T, Refusal>) -> String {
    let Err(refusal) = judged else {
        return "fits".to_owned();
    };
    assert!(refusal.to_string().chars().count() < 500);
    let refusal = format!("{refusal:?}");
    let end = refusal.find(' ').unwrap_or(refusal.len());
    refusal[..end].to_owned()
}
