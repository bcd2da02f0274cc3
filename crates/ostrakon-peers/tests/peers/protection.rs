//! Peers that prove to each other who they are, and those who cannot.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ostrakon_control::{GreetingError, Hello, PeerHello, Seat, dial, dial_role, greet};
use ostrakon_core::{Address, NodeName};
use ostrakon_peers::{Peer, PeerSettings, Seeds, StartError};
use ostrakon_tls::{
    Files, Identity, Role, Security,
    make::{Authority, Validity},
};

use crate::support::{SOON, until, up};

/// A directory of certificates and the authority that signs them.
struct Office {
    dir: PathBuf,
    authority: Authority,
}

impl Office {
    fn new() -> Self {
        static OFFICES: AtomicU32 = AtomicU32::new(0);
        let number = OFFICES.fetch_add(1, Ordering::Relaxed);
        let name = format!("ostrakon-peers-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        let validity = Validity::for_the_next(Validity::OF_AUTHORITY);
        let authority = Authority::new("bank", validity).unwrap();
        fs::write(dir.join("ca.pem"), authority.cert_pem()).unwrap();
        Self { dir, authority }
    }

    fn security(&self, role: Role, name: &str) -> Security {
        let identity = Identity::new("bank", role, name).unwrap();
        let validity = Validity::for_the_next(Validity::OF_LEAF);
        let issued = self.authority.issue(&identity, validity).unwrap();
        let files = Files::in_dir(&self.dir, &format!("{role}-{name}"));
        fs::write(&files.certificate, issued.cert_pem).unwrap();
        fs::write(&files.key, issued.key_pem).unwrap();
        Security::tls(files).unwrap()
    }

    fn settings(&self, name: &str, listen: &str) -> PeerSettings {
        PeerSettings::new("bank", name, listen).security(self.security(Role::Node, name))
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn hello(name: &str) -> PeerHello {
    PeerHello {
        cluster: "bank".to_owned(),
        name: NodeName::new(name).unwrap(),
        address: Address::new("127.0.0.1:1").unwrap(),
        session: 1,
    }
}

#[tokio::test]
async fn peers_with_certificates_of_nodes_are_one_cluster() {
    let office = Office::new();
    let first = Peer::start(office.settings("node-1", "127.0.0.1:0"))
        .await
        .unwrap();
    let seeds = [first.address().to_string()];
    let second = office.settings("node-2", "127.0.0.1:0").seeds(seeds);
    let second = Peer::start(second).await.unwrap();
    for peer in [&first, &second] {
        until(peer, |snapshot| up(snapshot) == 2).await;
    }
}

/// Each knows the other under an address by which that does not call itself, and neither is the lowest as long as they go by those.
#[tokio::test]
async fn peers_that_call_themselves_otherwise_than_their_seeds_do_are_one_cluster() {
    let office = Office::new();
    let ports = [(); 2].map(|()| {
        let at = crate::support::free_address();
        at.rsplit_once(':').unwrap().1.to_owned()
    });
    let starting = |number: usize| {
        let name = format!("node-{number}");
        let mut settings = office.settings(&name, &format!("0.0.0.0:{}", ports[number]));
        settings.advertise = Some(format!("127.0.0.{}:0", 6 + number));
        Peer::start(settings.seeds(Seeds::new([format!("127.0.0.1:{}", ports[1 - number])])))
    };
    let (first, second) = tokio::join!(starting(0), starting(1));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.cluster(), second.cluster());
    assert!(first.address().to_string().starts_with("127.0.0.6:"));
}

#[tokio::test]
async fn a_peer_does_not_start_with_the_certificate_of_somebody_else() {
    let office = Office::new();
    for (role, name) in [
        (Role::Manager, "node-1"),
        (Role::Client, "node-1"),
        (Role::Node, "node-2"),
    ] {
        let mut settings = office.settings("node-1", "127.0.0.1:0");
        settings.security = office.security(role, name);
        let error = Peer::start(settings).await.err().unwrap();
        assert!(matches!(error, StartError::Unfit(_)), "{error}");
    }
}

#[tokio::test]
async fn whoever_calls_must_have_the_certificate_of_what_it_says_it_is() {
    let office = Office::new();
    let peer = Peer::start(office.settings("node-1", "127.0.0.1:0"))
        .await
        .unwrap();
    for (role, name, fits) in [
        (Role::Node, "node-2", true),
        (Role::Node, "node-3", false),
        (Role::Client, "node-2", false),
        (Role::Manager, "node-2", false),
        (Role::Admin, "node-2", false),
    ] {
        let security = office.security(role, name);
        let dialed = hello("node-2").dial(peer.address(), &security, SOON).await;
        match dialed {
            Ok(met) => assert!(fits && met.name.as_str() == "node-1", "{role} {name}"),
            Err(GreetingError::RefusedByManager(reason)) => {
                assert!(
                    !fits && reason.contains("its certificate is for"),
                    "{reason}"
                );
            }
            Err(error) => panic!("{role} {name}: {error}"),
        }
    }
}

#[tokio::test]
async fn who_answers_must_be_whom_one_expects() {
    let office = Office::new();
    let peer = Peer::start(office.settings("node-1", "127.0.0.1:0"))
        .await
        .unwrap();
    let caller = Hello {
        cluster: "bank".to_owned(),
        name: "node-2".to_owned(),
        seat: Seat::Node,
    };
    let security = office.security(Role::Node, "node-2");
    let (at, role) = (peer.address(), Role::Node);
    assert!(dial_role(role, at, &security, &caller, SOON).await.is_ok());
    let error = dial(at, &security, &caller, SOON).await.err().unwrap();
    let reason = "who answers has the certificate of ostrakon://bank/node/node-1 and calls itself manager `node-1`";
    assert!(error.to_string().contains(reason), "{error}");
}

#[tokio::test]
async fn a_manager_is_not_taken_for_a_peer() {
    let office = Office::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let manager = office.security(Role::Manager, "manager-1");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = greet(stream, &manager, "bank", "manager-1", SOON).await;
        }
    });
    let mut settings = office
        .settings("node-1", "127.0.0.1:0")
        .seeds([at.to_string()]);
    settings.join_within = Duration::from_secs(1);
    settings.tune = Box::new(|config| config.forming = ostrakon_core::Forming::Never);
    let error = Peer::start(settings).await.err().unwrap().to_string();
    assert!(
        error.contains("it wants to be a peer, and managers have none"),
        "{error}"
    );
}
