//! `ostrakon probe`: one line and an exit code, whatever state a manager or a peer is in.

use std::{
    net::TcpListener,
    process::Output,
    sync::Arc,
    time::{Duration, Instant},
};

use ostrakon_admin::{Admin, AdminSettings};
use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use ostrakon_manager::{Manager as OwnManager, ManagerSettings};
use ostrakon_storage::{
    Append, AppendError, BoxFuture, Head, Read, Renewal, Renewed, Storage, StorageError,
};

use super::{
    folder::{Folder, complaint},
    peers::PeerNodes,
    running::Manager,
};

/// The one line that it says, and its exit code.
fn told(output: &Output) -> (String, Option<i32>) {
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(said.lines().count(), 1, "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    (said.trim_end().to_owned(), output.status.code())
}

fn asked(manager: &Manager<'_>, arguments: &str) -> (String, Option<i32>) {
    told(&manager.verb(arguments).output().unwrap())
}

#[test]
fn a_manager_that_leads_is_alive_and_ready() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    assert_eq!(asked(&manager, "probe"), ("alive".to_owned(), Some(0)));
    assert_eq!(
        asked(&manager, "probe --ready"),
        ("ready".to_owned(), Some(0))
    );
    let (json, code) = asked(&manager, "probe --ready --json");
    assert_eq!(
        (json.as_str(), code),
        (r#"{"state":"ready","why":null}"#, Some(0))
    );
}

#[test]
fn with_certificates_any_of_the_cluster_will_do() {
    let folder = Folder::new();
    for make in ["ca --cluster ostrakon", "manager manager", "client shop"] {
        complaint(&folder.run(&format!("certs {make}")), 0);
    }
    let manager = Manager::start_with(&folder, "--tls-dir certs --storage memory:");
    for name in ["manager", "shop"] {
        let probe = format!("probe --as {name}");
        assert_eq!(asked(&manager, &probe), ("alive".to_owned(), Some(0)));
    }
    let plain = manager.admin.replace("https", "http");
    let (said, code) = asked(&manager, &format!("probe --manager {plain}"));
    assert!(
        said.starts_with("not alive: ") && said.contains("https://"),
        "{said}"
    );
    assert_eq!(code, Some(1));
}

#[test]
fn nobody_there_is_not_alive() {
    let folder = Folder::new();
    let (said, code) = told(&folder.run("probe --manager http://127.0.0.1:1"));
    assert!(
        said.starts_with("not alive: no manager or peer answers"),
        "{said}"
    );
    assert_eq!(code, Some(1));
    let (said, _) = told(&folder.run("probe --ready --json --manager http://127.0.0.1:1"));
    assert!(
        said.starts_with(r#"{"state":"not ready","why":"no manager"#),
        "{said}"
    );
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let folder = Folder::new();
    // It takes connections and never reads.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    let probe = format!(
        "probe --within 300ms --manager http://{}",
        silent.local_addr().unwrap()
    );
    let said = told(&folder.run(&probe));
    assert_eq!(
        said,
        ("not alive: no answer within 300ms".to_owned(), Some(1))
    );
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "the others wait for 5 s and more"
    );
}

#[test]
fn a_manager_whose_storage_does_not_answer_is_alive_and_not_ready() {
    let folder = Folder::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_manager, admin) = runtime.block_on(async {
        let settings = ManagerSettings {
            listen: "127.0.0.1:0".to_owned(),
            ..ManagerSettings::default()
        };
        let manager = OwnManager::start_over(Arc::new(Silent), settings);
        let manager = manager.await.unwrap();
        let admin = Admin::start(manager.desk().clone(), AdminSettings::default());
        let admin = admin.await.unwrap();
        (manager, admin)
    });
    let at = format!("--manager http://{}", admin.address());
    let alive = told(&folder.run(&format!("probe {at}")));
    assert_eq!(alive, ("alive".to_owned(), Some(0)));
    let (said, code) = told(&folder.run(&format!("probe --ready {at}")));
    let state = "not ready: the log has not been read yet; wait";
    assert!(said.starts_with(state), "{said}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_peer_is_asked_as_a_manager_is() {
    let folder = Folder::new();
    let cluster = PeerNodes::start(1);
    let desk = cluster.nodes[0].desk().unwrap().clone();
    let admin = Admin::start(desk, AdminSettings::default());
    let admin = cluster.runtime.block_on(admin).unwrap();
    let probe = format!("probe --ready --peer http://{}", admin.address());
    assert_eq!(told(&folder.run(&probe)), ("ready".to_owned(), Some(0)));
    cluster.runtime.block_on(admin.stop());
    assert_eq!(told(&folder.run(&probe)).1, Some(1));
}

#[test]
fn options_of_a_probe_that_make_no_sense_are_told_from_what_is_wrong_there() {
    let folder = Folder::new();
    for (arguments, reason) in [
        ("--manager here", "http://HOST:PORT"),
        ("--manager https://127.0.0.1:1", "--as NAME"),
        ("--manager https://127.0.0.1:1 --as me", "certs/"),
        ("--within soon", "500ms, 20s or 2m"),
        ("--surprise", "--surprise"),
    ] {
        let refused = folder.refuses(&format!("probe {arguments}"), 2);
        assert!(refused.contains(reason), "{arguments}: {refused}");
    }
}

/// A storage that never answers.
struct Silent;

impl Storage for Silent {
    fn append<'a>(&'a self, _: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(std::future::pending())
    }

    fn read(&self, _: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(std::future::pending())
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(std::future::pending())
    }

    fn beat(&self, _: Term, _: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(std::future::pending())
    }

    fn compact<'a>(&'a self, _: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(std::future::pending())
    }

    fn changed(&self, _: Index) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn renew(&self, _: Incarnation, _: Renewal) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        Box::pin(std::future::pending())
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(std::future::pending())
    }
}
