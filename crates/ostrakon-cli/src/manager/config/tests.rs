//! What is filled in, and what is refused.

use super::super::options::from_toml;
use super::*;

fn config(text: &str) -> anyhow::Result<Config> {
    Config::new(from_toml(text)?)
}

fn refused(text: &str) -> String {
    format!("{:#}", config(text).unwrap_err())
}

#[test]
fn the_defaults_are_those_of_the_originals_config_page() {
    let config = config("").unwrap();
    assert_eq!(config.rebalance_interval, Span::seconds(20));
    assert_eq!(config.rebalance_rate, Rate::default());
    assert_eq!(config.ping_timeout, Span::seconds(3));
    assert_eq!(config.listen, "127.0.0.1:9470");
    assert_eq!(config.admin_listen, "127.0.0.1:9471");
    assert_eq!(config.storage, "file:ostrakon-data/ostrakon.redb");
    assert_eq!(config.failover, Failover::Proof);
    assert_eq!(
        config.settings().unwrap().policy,
        ManagerSettings::default().policy
    );
}

#[test]
fn the_log_is_in_the_data_folder_unless_it_is_told_elsewhere() {
    assert_eq!(
        config("data_dir = \"/d\"").unwrap().storage,
        "file:/d/ostrakon.redb"
    );
    assert_eq!(config("storage = \"memory:\"").unwrap().storage, "memory:");
}

#[test]
fn leases_have_the_times_of_a_profile_or_their_own() {
    let times = |text: &str| config(text).unwrap().failover.lease().unwrap().times();
    assert_eq!(
        times("failover = \"lease\""),
        LeaseTiming::default().times()
    );
    assert_eq!(
        times("failover = \"lease\"\n[lease]\nprofile = \"fast\""),
        LeaseTiming::fast().times()
    );
    assert_eq!(
        times("failover = \"lease\"\n[lease]\nprofile = \"single-manager\""),
        LeaseTiming::single_manager().times()
    );
    let own = times("failover = \"lease\"\n[lease]\nprofile = \"fast\"\nwait = \"9s\"");
    assert_eq!(
        (own.wait, own.hold),
        (Duration::from_secs(9), Duration::from_secs(3))
    );
}

#[test]
fn unsafe_leases_are_refused_with_the_numbers() {
    let refusal = refused("failover = \"lease\"\n[lease]\nwait = \"12s\"");
    assert!(refusal.starts_with("lease: "), "{refusal}");
    assert!(refusal.contains("at least 12.1s"), "{refusal}");
    assert!(refused("[lease]\nprofile = \"fast\"").contains("failover = \"lease\""));
}

#[test]
fn impossible_values_are_refused_with_their_key() {
    for (text, key, reason) in [
        ("rebalance_rate = 2.0", "rebalance_rate", "0 (never) to 1"),
        ("name = \"a/b\"", "name", "/"),
        ("name = \"\"", "name", "empty"),
        ("cluster = \"a b\"", "cluster", "a b"),
        ("listen = \"9470\"", "listen", "HOST:PORT"),
        ("listen = \":9470\"", "listen", "HOST:PORT"),
        ("listen = \"127.0.0.1:99999\"", "listen", "HOST:PORT"),
        ("[admin]\nlisten = \"here\"", "admin.listen", "HOST:PORT"),
        (
            "[admin]\nlisten = \"127.0.0.1:9470\"",
            "admin.listen",
            "another port",
        ),
        ("most_moving = 0", "most_moving", "at least 1"),
        ("connections = 0", "connections", "at least 1"),
        ("ping_timeout = \"6s\"", "ping_timeout", "5s"),
        ("takeover_patience = \"1s\"", "takeover_patience", "2s"),
        ("log = \"loud=very\"", "log", ""),
        ("[tls]\nca = \"ca.pem\"", "tls.certificate", "tls.dir"),
    ] {
        let refusal = refused(text);
        assert!(
            refusal.starts_with(&format!("{key}: ")),
            "{text}: {refusal}"
        );
        assert!(refusal.contains(reason), "{text}: {refusal}");
    }
}

#[test]
fn certificates_are_found_in_a_folder_or_one_by_one() {
    let files = config("name = \"m\"\n[tls]\ndir = \"certs\"\nkey = \"/run/key\"")
        .unwrap()
        .tls
        .unwrap();
    assert_eq!(files.certificate, PathBuf::from("certs/m.pem"));
    assert_eq!(files.key, PathBuf::from("/run/key"));
}
