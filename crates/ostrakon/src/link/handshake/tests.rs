//! The handshake: who is let in, and what becomes of those who say something else.

mod judging;
mod words;

use futures_util::FutureExt;
use ostrakon_core::ShardCount;
use tokio::io::duplex;

use super::*;
use crate::link::campaign::Campaign;

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
