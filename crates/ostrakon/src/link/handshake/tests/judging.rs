//! Who is let in, and who is refused in which words.

use ostrakon_core::CustomHash;

use super::*;

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
