//! Callers that a manager does not let in, and what only looks like a manager. Either side knows why.

use std::{net::SocketAddr, time::Duration};

use ostrakon_control::{Caller, FrameError, GreetingError, Hello, Seat, dial, greet};
use ostrakon_tls::Security;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) const SOON: Duration = Duration::from_secs(10);
const MAGIC: &[u8] = b"OSTRKNM\x01";
const VERSIONS: [u8; 4] = [0, 1, 0, 1];

pub(crate) fn hello(cluster: &str) -> Hello {
    Hello {
        cluster: cluster.to_owned(),
        name: "node-1".to_owned(),
        seat: Seat::Node,
    }
}

/// Greets one caller.
pub(crate) async fn manager(
    within: Duration,
) -> (SocketAddr, JoinHandle<Result<Caller, GreetingError>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let greeting = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        greet(stream, &Security::plaintext(), "bank", "manager-1", within).await
    });
    (address, greeting)
}

/// What a manager thinks of these bytes, and what it answers, when nothing follows them.
async fn says(bytes: &[u8]) -> (GreetingError, String) {
    let (address, greeting) = manager(SOON).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    // It may have reset the connection.
    let _ = stream.read_to_end(&mut answer).await;
    let error = greeting.await.unwrap().err().unwrap();
    (error, String::from_utf8_lossy(&answer).into_owned())
}

pub(crate) fn opening(hello: &[u8]) -> Vec<u8> {
    let length = u32::try_from(hello.len()).unwrap().to_be_bytes();
    [MAGIC, &VERSIONS, &length, hello].concat()
}

fn good() -> Vec<u8> {
    opening(&rmp_serde::to_vec_named(&hello("bank")).unwrap())
}

#[tokio::test]
async fn those_who_fit_together_are_connected() {
    let (address, greeting) = manager(SOON).await;
    let dialed = dial(address, &Security::plaintext(), &hello("bank"), SOON).await;
    assert_eq!(dialed.ok().unwrap().1, "manager-1");
    let caller = greeting.await.unwrap().ok().unwrap();
    assert_eq!((caller.name.as_str(), caller.seat), ("node-1", Seat::Node));
}

#[tokio::test]
async fn what_is_no_greeting_is_not_answered() {
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: manager\r\n\r\n"[..],
        &[0; 64],
        b"OSTRKNM\x02\0\x01\0\x01",
        &[
            0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x00,
        ],
    ] {
        let (error, answer) = says(bytes).await;
        assert!(matches!(error, GreetingError::Stranger(_)), "{error}");
        assert_eq!(answer, "");
    }
}

#[tokio::test]
async fn a_greeting_that_ends_early_is_none() {
    let good = good();
    for end in 0..good.len() {
        let (error, answer) = says(&good[..end]).await;
        let broken = matches!(
            error,
            GreetingError::Io(_) | GreetingError::Frame(FrameError::Broken(_))
        );
        assert!(broken, "{end}: {error}");
        assert_eq!(answer, "");
    }
}

#[tokio::test]
async fn a_greeting_with_a_flipped_bit_is_refused_or_that_of_somebody_else() {
    let good = good();
    let mut strangers = 0;
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (address, greeting) = manager(Duration::from_secs(1)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        match greeting.await.unwrap() {
            // Another valid name, the other seat, or more versions than one.
            Ok(caller) => assert!(bit >= 64, "{bit}: {}", caller.name),
            Err(_) => strangers += 1,
        }
    }
    assert!(strangers > good.len() * 4, "{strangers}");
}

#[tokio::test]
async fn an_oversized_greeting_is_refused_before_it_is_read() {
    let announced = [MAGIC, &VERSIONS, &[0xff; 4]].concat();
    let (error, _) = says(&announced).await;
    assert!(
        matches!(error, GreetingError::Frame(FrameError::TooLarge { .. })),
        "{error}"
    );
}

#[tokio::test]
async fn versions_that_do_not_meet_are_refused_and_both_know_it() {
    for versions in [[0, 3, 0, 9], [0, 0, 0, 0], [0xff; 4]] {
        // The rest of what it says is unread when it is refused; it hears why all the same.
        let rest = vec![7; 5000];
        let (error, answer) = says(&[MAGIC, &versions, &rest].concat()).await;
        assert!(
            error.to_string().contains("upgrade the older side"),
            "{error}"
        );
        assert!(answer.contains("upgrade the older side"), "{answer}");
    }
    let newer = [MAGIC, &[0, 1, 0, 9], &good()[12..]].concat();
    let (address, greeting) = manager(SOON).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&newer).await.unwrap();
    assert!(greeting.await.unwrap().is_ok(), "they meet in version 1");
}

#[tokio::test]
async fn another_cluster_or_a_bad_name_is_refused_and_both_know_it() {
    let mut nameless = hello("bank");
    nameless.name = "no\nname".to_owned();
    for (hello, reason) in [
        (
            hello("staging\n"),
            "it belongs to cluster `staging\u{fffd}`, and this is a manager of `bank`",
        ),
        (nameless, "node name has '\\n' at byte 2"),
    ] {
        let (address, greeting) = manager(SOON).await;
        let dialed = dial(address, &Security::plaintext(), &hello, SOON).await;
        let theirs = dialed.err().unwrap();
        assert!(
            matches!(theirs, GreetingError::RefusedByManager(_)),
            "{theirs}"
        );
        let ours = greeting.await.unwrap().err().unwrap();
        for error in [theirs.to_string(), ours.to_string()] {
            assert!(error.contains(reason), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

#[tokio::test]
async fn whoever_dawdles_is_given_up() {
    let within = Duration::from_millis(200);
    for said in [0, 5, 14] {
        let (address, greeting) = manager(within).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&good()[..said]).await.unwrap();
        let error = greeting.await.unwrap().err().unwrap();
        assert!(matches!(error, GreetingError::Late(_)), "{error}");
        assert_eq!(
            stream.read(&mut [0; 8]).await.unwrap_or(0),
            0,
            "it is hung up on"
        );
    }
}

/// What a dialer makes of somebody who answers like this and hangs up.
async fn answers(bytes: Vec<u8>) -> GreetingError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answering = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; good().len()];
        stream.read_exact(&mut heard).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
    };
    let hello = hello("bank");
    let plain = Security::plaintext();
    let (dialed, ()) = tokio::join!(dial(address, &plain, &hello, SOON), answering);
    dialed.err().unwrap()
}

#[tokio::test]
async fn a_dialer_knows_what_is_no_manager() {
    for bytes in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![0xff; 64],
        vec![0, 0, 0, 2, 0xc1, 0xc1],
        vec![0, 0, 0, 1, 0x80],
    ] {
        let error = answers(bytes).await;
        assert!(matches!(error, GreetingError::Stranger(_)), "{error}");
    }
    for bytes in [vec![], vec![0, 0], vec![0, 0, 1, 0, 0x81]] {
        let error = answers(bytes).await;
        assert!(matches!(error, GreetingError::Io(_)), "{error}");
    }
}

#[tokio::test]
async fn a_dialer_does_not_wait_for_ever() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let within = Duration::from_millis(100);
    let dialed = dial(address, &Security::plaintext(), &hello("bank"), within).await;
    assert!(matches!(dialed, Err(GreetingError::Late(_))));
}

#[tokio::test]
async fn plain_text_does_not_leave_the_host() {
    let address = "192.0.2.1:9470".parse().unwrap();
    let dialed = dial(address, &Security::plaintext(), &hello("bank"), SOON).await;
    let error = dialed.err().unwrap().to_string();
    assert!(
        error.contains("192.0.2.1:9470 is not a loopback address"),
        "{error}"
    );
}
