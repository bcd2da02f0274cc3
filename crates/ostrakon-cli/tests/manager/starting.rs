//! Managers that start, stop and start again, and those that cannot.

use super::{
    folder::{Folder, complaint},
    running::Manager,
};

#[test]
fn a_manager_stops_when_it_is_told_and_goes_on_where_it_was() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    manager.does("rebalancing freeze");
    let before = manager.until("frost", |status| status["rebalancing"] == "frozen");
    assert_eq!(manager.stop("-TERM"), Some(0));
    let manager = Manager::start(&folder);
    let after = manager.until("a leader", |status| status["leader"]["is_this"] == true);
    assert!(after["log_index"].as_u64() > before["log_index"].as_u64());
    assert_eq!(after["rebalancing"], "frozen");
    assert_eq!(manager.stop("-INT"), Some(0));
    assert!(
        folder
            .refuses("status --manager http://127.0.0.1:1", 1)
            .contains("is it running?")
    );
}

#[test]
fn two_managers_do_not_share_a_file_or_a_port() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    let same_file = folder.refuses("manager --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0", 1);
    assert!(same_file.contains("ostrakon.redb"), "{same_file}");
    let port = manager.admin.trim_start_matches("http://").to_owned();
    let same_port = folder.refuses(
        &format!("manager --storage memory: --listen 127.0.0.1:0 --admin-listen {port}"),
        1,
    );
    assert!(same_port.contains(&port), "{same_port}");
}

#[test]
fn what_cannot_be_started_says_why() {
    let folder = Folder::new();
    for (arguments, reason) in [
        ("--listen 0.0.0.0:0 --storage memory:", "need TLS"),
        // Built without it, or nobody there.
        ("--storage postgres://me:secret@127.0.0.1:1/x", "ostgre"),
        ("--storage etcd://127.0.0.1:1", "etcd"),
        ("--storage memory: --health kubernetes", "kubernetes"),
        ("--storage floppy:a", "floppy"),
        ("--storage memory: --admin-token-file nowhere", "nowhere"),
        ("--storage memory: --tls-dir nowhere", "nowhere"),
    ] {
        let refused = folder.refuses(
            &format!("manager --admin-listen 127.0.0.1:0 --log error {arguments}"),
            1,
        );
        assert!(refused.contains(reason), "{arguments}: {refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
    let output = folder
        .command("manager --storage memory: --listen 127.0.0.1:0")
        .env("OSTRAKON_ADMIN_TOKEN", "short")
        .output()
        .unwrap();
    assert!(complaint(&output, 1).contains("at least 16"));
}
