//! What a manager can be told, and where.

use super::folder::{Folder, complaint};

#[test]
fn settings_come_from_the_file_the_environment_and_flags() {
    let folder = Folder::new();
    folder.write("a.toml", "name = \"from-file\"\ncluster = \"from-file\"\nlisten = \"127.0.0.1:1\"\nrebalance_rate = 0.5\n");
    let output = folder
        .command("manager --config a.toml --name from-flag --print-config")
        .env("OSTRAKON_NAME", "from-environment")
        .env("OSTRAKON_CLUSTER", "from-environment")
        .output()
        .unwrap();
    complaint(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    for line in [
        "name = \"from-flag\"",
        "cluster = \"from-environment\"",
        "listen = \"127.0.0.1:1\"",
        "rebalance_rate = 0.5",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line}: {printed}"
        );
    }
    folder.write("b.toml", &printed);
    let again = folder.run("manager --config b.toml --print-config");
    assert_eq!(String::from_utf8(again.stdout).unwrap(), printed);
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_key_and_the_reason() {
    let folder = Folder::new();
    for (text, key, reason) in [
        ("lisen = \"127.0.0.1:1\"", "lisen", "unknown field"),
        ("number_of_shards = 300", "number_of_shards", "nodes"),
        ("rebalance_rate = 7.0", "rebalance_rate", "0 (never) to 1"),
        (
            "rebalance_interval = \"soon\"",
            "rebalance_interval",
            "500ms, 20s or 2m",
        ),
        (
            "failover = \"lease\"\n[lease]\nwait = \"1s\"",
            "lease",
            "set wait to at least 12.1s",
        ),
        ("name = ", "bad.toml", "line 1"),
    ] {
        folder.write("bad.toml", text);
        let refused = folder.refuses("manager --config bad.toml", 2);
        assert!(
            refused.contains(key) && refused.contains(reason),
            "{text}: {refused}"
        );
    }
    assert!(
        folder
            .refuses("manager --config nowhere.toml", 2)
            .contains("nowhere.toml")
    );
    assert!(
        folder
            .refuses("manager --rebalance-interval soon", 2)
            .contains("--rebalance-interval")
    );
    assert!(
        folder
            .refuses("manager --surprise", 2)
            .contains("--surprise")
    );
    let output = folder
        .command("manager")
        .env("OSTRAKON_LISEN", "127.0.0.1:1")
        .output()
        .unwrap();
    assert!(complaint(&output, 2).contains("OSTRAKON_LISEN"));
    let output = folder
        .command("manager")
        .env("OSTRAKON_PING_TIMEOUT", "1h")
        .output()
        .unwrap();
    assert!(complaint(&output, 2).contains("--ping-timeout"));
}
