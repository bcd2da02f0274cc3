//! Nodes and managers that prove to each other who they are, and those who cannot.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ostrakon::{Managed, Node, StartError};
use ostrakon_control::{GreetingError, Hello, Seat, dial};
use ostrakon_manager::{Manager, ManagerSettings};
use ostrakon_tls::{
    Files, Identity, Role, Security, Unfit, UtcTime,
    make::{Authority, Validity},
};

use crate::cluster::{Counter, Log, is_spread, until};

/// A directory of certificates and the authority that signs them.
struct Office {
    dir: PathBuf,
    authority: Authority,
}

impl Office {
    fn new() -> Self {
        static OFFICES: AtomicU32 = AtomicU32::new(0);
        let number = OFFICES.fetch_add(1, Ordering::Relaxed);
        let name = format!("ostrakon-managed-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).unwrap();
        let validity = Validity::for_the_next(Validity::OF_AUTHORITY);
        let authority = Authority::new("ostrakon", validity).unwrap();
        let office = Self { dir, authority };
        office.trust(&[&office]);
        office
    }

    fn trust(&self, offices: &[&Self]) {
        let all: String = offices
            .iter()
            .map(|office| office.authority.cert_pem())
            .collect();
        fs::write(self.dir.join("ca.pem"), all).unwrap();
    }

    fn security(&self, role: Role, name: &str) -> Security {
        self.security_for(role, name, Validity::for_the_next(Validity::OF_LEAF))
    }

    fn security_for(&self, role: Role, name: &str, validity: Validity) -> Security {
        let identity = Identity::new("ostrakon", role, name).unwrap();
        let issued = self.authority.issue(&identity, validity).unwrap();
        let files = Files::in_dir(&self.dir, &format!("{role}-{name}"));
        fs::write(&files.certificate, issued.cert_pem).unwrap();
        fs::write(&files.key, issued.key_pem).unwrap();
        Security::tls(files).unwrap()
    }

    async fn manager(&self, name: &str) -> Manager {
        manager(name, self.security(Role::Manager, name))
            .await
            .unwrap()
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

async fn manager(name: &str, security: Security) -> Result<Manager, ostrakon_manager::StartError> {
    Manager::start(ManagerSettings {
        name: name.to_owned(),
        security,
        ..ManagerSettings::default()
    })
    .await
}

async fn start(name: &str, manager: &Manager, security: Security) -> Result<Node, StartError> {
    let managed = Managed::from(manager.address().unwrap())
        .security(security)
        .join_within(Duration::from_secs(2));
    Node::builder(name)
        .managed(managed)
        .host::<Counter>()
        .start()
        .await
}

/// Why a caller with this certificate is not let in.
async fn refusal(manager: &Manager, security: &Security, name: &str, seat: Seat) -> String {
    let hello = Hello {
        cluster: "ostrakon".to_owned(),
        name: name.to_owned(),
        seat,
    };
    let within = Duration::from_secs(10);
    match dial(manager.address().unwrap(), security, &hello, within).await {
        Ok(_) => panic!("it was let in"),
        Err(GreetingError::RefusedByManager(reason)) => reason,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_works_over_tls() {
    let office = Office::new();
    let manager = office.manager("m").await;
    let (one, two) = tokio::join!(
        start("node-1", &manager, office.security(Role::Node, "node-1")),
        start("node-2", &manager, office.security(Role::Node, "node-2")),
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    until(&manager, "equal shares", |view| {
        is_spread(view, &[("node-1", 150), ("node-2", 150)])
    })
    .await;
    for id in 0..50 {
        let id = format!("counter-{id}");
        assert_eq!(one.entity::<Counter>(&id).add(1).await.unwrap(), 1);
        assert_eq!(two.entity::<Counter>(&id).add(1).await.unwrap(), 2);
    }
    one.leave().await.unwrap();
    two.leave().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_authority_is_trusted_by_neither_side() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::new());
    let flaw = "no authority in our ca file signed it";
    let manager = ours.manager("m").await;
    let started = start("tls-1", &manager, theirs.security(Role::Node, "tls-1")).await;
    let error = started.unwrap_err().to_string();
    assert!(error.contains(flaw), "{error}");
    let at = manager.address().unwrap().to_string();
    log.says(&["no contact with a manager", &at, flaw]).await;
    log.says(&["a caller is refused", "refused us"]).await;
    // Now the node would trust the manager, but not the other way round.
    theirs.trust(&[&ours, &theirs]);
    let started = start("tls-1", &manager, theirs.security(Role::Node, "tls-1")).await;
    let error = started.unwrap_err().to_string();
    assert!(error.contains("refused us"), "{error}");
    log.says(&["a caller is refused", flaw]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_refused_and_both_say_so() {
    let log = Log::listen();
    let office = Office::new();
    let manager = office.manager("m").await;
    let until = UtcTime::now().plus(Duration::from_secs(2));
    let validity = Validity {
        from: UtcTime::now().minus(Duration::from_secs(60)),
        until,
    };
    let short = office.security_for(Role::Node, "tls-2", validity);
    while UtcTime::now() <= until {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let error = start("tls-2", &manager, short)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("refused us"), "{error}");
    log.says(&["a caller is refused", "it expired at"]).await;
    let at = manager.address().unwrap().to_string();
    log.says(&["no contact with a manager", &at, "refused us"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_lets_in_only_whom_it_names_and_as_what_it_says() {
    let log = Log::listen();
    let office = Office::new();
    let manager = office.manager("m").await;
    for (role, name, seat) in [
        (Role::Client, "tls-3", Seat::Node),
        (Role::Admin, "tls-3", Seat::Node),
        (Role::Manager, "tls-3", Seat::Node),
        (Role::Admin, "tls-3", Seat::Client),
        (Role::Manager, "tls-3", Seat::Client),
        (Role::Node, "tls-4", Seat::Node),
        (Role::Client, "tls-4", Seat::Client),
    ] {
        let security = office.security(role, name);
        let reason = refusal(&manager, &security, "tls-3", seat).await;
        let certificate = format!("its certificate is for ostrakon://ostrakon/{role}/{name}");
        assert!(reason.contains(&certificate), "{reason}");
        log.says(&["WARN", "a caller is refused", &certificate])
            .await;
    }
    let client = office.security(Role::Client, "tls-3");
    let hello = Hello {
        cluster: "ostrakon".to_owned(),
        name: "tls-3".to_owned(),
        seat: Seat::Client,
    };
    let within = Duration::from_secs(10);
    assert!(
        dial(manager.address().unwrap(), &client, &hello, within)
            .await
            .is_ok()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_begins_with_the_certificate_of_somebody_else() {
    let office = Office::new();
    let ours = office.manager("m").await;
    for (role, name) in [
        (Role::Node, "m"),
        (Role::Manager, "other"),
        (Role::Client, "m"),
    ] {
        let started = manager("m", office.security(role, name)).await;
        let Err(ostrakon_manager::StartError::Unfit(unfit)) = started else {
            panic!("{role} {name}");
        };
        assert!(matches!(unfit, Unfit::OtherCertificate { .. }), "{unfit}");
    }
    for (role, name) in [
        (Role::Client, "tls-5"),
        (Role::Node, "other"),
        (Role::Manager, "tls-5"),
    ] {
        let started = start("tls-5", &ours, office.security(role, name)).await;
        assert!(matches!(
            started,
            Err(StartError::Unfit(Unfit::OtherCertificate { .. }))
        ));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_does_not_take_another_node_for_a_manager() {
    let log = Log::listen();
    let office = Office::new();
    let impostor = office.security(Role::Node, "m");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answering = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let within = Duration::from_secs(5);
            let _ = ostrakon_control::greet(stream, &impostor, "ostrakon", "m", within).await;
        }
    });
    let managed = Managed::from(address)
        .security(office.security(Role::Node, "tls-6"))
        .join_within(Duration::from_secs(1));
    let node = Node::builder("tls-6").managed(managed).host::<Counter>();
    let error = node.start().await.unwrap_err().to_string();
    let reason = "who answers has the certificate of ostrakon://ostrakon/node/m and calls itself manager `m`";
    assert!(error.contains(reason), "{error}");
    log.says(&["no contact with a manager", &address.to_string(), reason])
        .await;
    answering.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_text_is_for_loopback_only_and_does_not_mix_with_tls() {
    let log = Log::listen();
    let settings = ManagerSettings {
        listen: "0.0.0.0:0".to_owned(),
        ..ManagerSettings::default()
    };
    let started = Manager::start(settings).await;
    let unfit = matches!(
        started,
        Err(ostrakon_manager::StartError::Unfit(
            Unfit::Unprotected { .. }
        ))
    );
    assert!(unfit);
    let managed = Managed::from("192.0.2.1:9470").join_within(Duration::from_millis(300));
    let node = Node::builder("tls-7").managed(managed).host::<Counter>();
    let error = node.start().await.unwrap_err().to_string();
    assert!(
        error.contains("192.0.2.1:9470 is not a loopback address"),
        "{error}"
    );

    let office = Office::new();
    let secured = office.manager("m").await;
    let error = start("tls-8", &secured, Security::plaintext())
        .await
        .unwrap_err();
    assert!(matches!(error, StartError::NotJoined { .. }), "{error}");
    log.says(&["a caller is refused", "the tls handshake failed"])
        .await;
    let plain = manager("m", Security::plaintext()).await.unwrap();
    let started = start("tls-8", &plain, office.security(Role::Node, "tls-8")).await;
    let error = started.unwrap_err();
    assert!(matches!(error, StartError::NotJoined { .. }), "{error}");
    log.says(&["a caller is refused", "it does not begin as one"])
        .await;
}
