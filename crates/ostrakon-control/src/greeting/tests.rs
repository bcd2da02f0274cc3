//! Which version both sides speak.

use tokio::net::TcpListener;

use super::*;

const SOON: Duration = Duration::from_secs(10);

/// A manager's answer before versions were named in it.
#[derive(Serialize)]
enum Early {
    Welcome { manager: &'static str },
}

async fn dialed(address: SocketAddr) -> Dialed {
    let hello = Hello {
        cluster: "bank".to_owned(),
        name: "node-1".to_owned(),
        seat: Seat::Node,
    };
    let plain = Security::plaintext();
    let dialed = dial_role(Role::Manager, address, &plain, &hello, SOON).await;
    dialed.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn whoever_names_no_version_is_told_nothing_new() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut opening = [0; 12];
        stream.read_exact(&mut opening).await.unwrap();
        assert_eq!(opening[8..10], [0, 1], "it still speaks the first version");
        let _: Introduction = frame::read(&mut stream, MOST).await.unwrap();
        let manager = "early";
        frame::write(&mut stream, &Early::Welcome { manager })
            .await
            .unwrap();
        stream
    });
    let dialed = dialed(address).await;
    assert_eq!((dialed.name.as_str(), dialed.version), ("early", 1));
    answering.await.unwrap();
}

#[tokio::test]
async fn two_of_today_speak_the_newest_version() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answering = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        greet(stream, &Security::plaintext(), "bank", "manager-1", SOON).await
    });
    assert_eq!(dialed(address).await.version, NEWEST);
    assert!(answering.await.unwrap().is_ok());
}

#[test]
fn a_welcome_can_be_read_by_those_who_know_no_versions() {
    #[derive(Deserialize)]
    struct Early {
        manager: String,
    }
    let welcome = Welcome {
        name: "manager-1".to_owned(),
        address: None,
        session: None,
        version: NEWEST,
    };
    let bytes = rmp_serde::to_vec_named(&welcome).unwrap();
    let read: Early = rmp_serde::from_slice(&bytes).unwrap();
    assert_eq!(read.manager, "manager-1");
}
