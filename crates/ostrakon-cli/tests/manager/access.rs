//! Who may look, and who may change something.

use serde_json::Value;

use super::{
    folder::{Folder, complaint},
    running::Manager,
};

#[test]
fn who_has_no_token_may_only_look() {
    let folder = Folder::new();
    let manager = Manager::start(&folder);
    let without = |arguments: &str| {
        let output = manager
            .verb(arguments)
            .env_remove("OSTRAKON_ADMIN_TOKEN_FILE")
            .output()
            .unwrap();
        complaint(&output, 1)
    };
    assert!(without("rebalancing freeze").contains("OSTRAKON_ADMIN_TOKEN"));
    assert!(
        without("rebalancing freeze --token 0123456789abcdef-wrong")
            .contains("not the admin token")
    );
    let unset = Folder::new();
    let open = Manager::start_with(&unset, "");
    assert!(
        open.refuses("rebalancing freeze")
            .contains("--admin-token-file")
    );
    assert_eq!(open.json("status")["rebalancing"], "on");
}

#[test]
fn with_certificates_an_admin_needs_no_token() {
    let folder = Folder::new();
    for make in [
        "ca --cluster ostrakon",
        "manager manager",
        "admin alice",
        "client shop",
    ] {
        complaint(&folder.run(&format!("certs {make}")), 0);
    }
    let manager = Manager::start_with(&folder, "--tls-dir certs");
    assert!(manager.admin.starts_with("https://"), "{}", manager.said);
    let status: Value = serde_json::from_str(&manager.does("status --as shop --json")).unwrap();
    assert_eq!(status["cluster"], "ostrakon");
    assert!(
        manager
            .refuses("rebalancing freeze --as shop --token-file /dev/null")
            .contains("16")
    );
    assert!(
        manager
            .does("rebalancing freeze --as alice")
            .contains("no shard")
    );
    assert!(manager.refuses("status").contains("--as NAME"));
    let plain = manager.admin.replace("https", "http");
    assert!(
        manager
            .refuses(&format!("status --manager {plain}"))
            .contains("https://")
    );
}

#[test]
fn an_address_that_is_none_is_refused() {
    let folder = Folder::new();
    for address in [
        "here",
        "http://here",
        "http://here/v1",
        "ftp://127.0.0.1:9471",
        "http://127.0.0.1:9471/v1",
    ] {
        assert!(
            folder
                .refuses(&format!("status --manager {address}"), 1)
                .contains("http://HOST:PORT"),
            "{address}"
        );
    }
}
