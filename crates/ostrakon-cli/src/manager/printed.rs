//! A configuration as a file that makes it so, with a word about every key.

use std::{fmt::Write as _, path::Path, time::Duration};

use clap::ValueEnum;
use ostrakon_core::LeaseTiming;

use super::config::Config;
use crate::span::Span;

/// The text of such a file. Passwords are left out.
pub(crate) fn printed(config: &Config) -> String {
    let mut file = File(String::new());
    file.general(config);
    file.balance(config);
    file.failover(config);
    file.tables(config);
    file.0
}

struct File(String);

impl File {
    fn general(&mut self, config: &Config) {
        self.key(
            "What this manager is called; each has a name of its own.",
            "name",
            &text(&config.name),
        );
        self.key(
            "The cluster it looks after.",
            "cluster",
            &text(&config.cluster),
        );
        self.key(
            "Where nodes connect. Other than loopback addresses need TLS.",
            "listen",
            &text(&config.listen),
        );
        self.key(
            "The folder for what it keeps itself.",
            "data_dir",
            &path(&config.data_dir),
        );
        self.key(
            "Where the log is: file:PATH, memory:, postgres://…, redis://… or etcd://…",
            "storage",
            &text(&without_password(&config.storage)),
        );
        self.key(
            "How long a call to the storage may take.",
            "storage_deadline",
            &span(config.storage_deadline),
        );
        self.key(
            "Take a server although it may lose what it has acknowledged: ownership is then no longer exclusive.",
            "storage_accept_loss",
            &config.storage_accept_loss.to_string(),
        );
        self.key(
            "How many nodes and clients may be connected.",
            "connections",
            &config.connections.to_string(),
        );
        self.key(
            "What to log: error, warn, info, debug, trace, or by module.",
            "log",
            &text(&config.log),
        );
    }

    fn balance(&mut self, config: &Config) {
        self.key(
            "How often shards are moved for the sake of balance.",
            "rebalance_interval",
            &span(config.rebalance_interval),
        );
        let rate = f64::from(config.rebalance_rate);
        self.key(
            "How much of a group a node may receive in one round, 0 to 1.",
            "rebalance_rate",
            &format!("{rate:?}"),
        );
        self.key(
            "How many shards a node may be giving up at once.",
            "most_moving",
            &config.most_moving.to_string(),
        );
        self.key(
            "When shards get owners: \"at-once\" or \"at-first-access\".",
            "placement",
            &choice(&config.placement),
        );
    }

    fn failover(&mut self, config: &Config) {
        let rule = config.failover.lease().map_or("proof", |_| "lease");
        self.key(
            "What must be known before a silent node's shards are given to others: \"proof\" that it is dead, or that its \"lease\" ran out.",
            "failover",
            &text(rule),
        );
        self.key(
            "Who says whether a silent node is dead: \"auto\", \"process\", \"ping\" or \"kubernetes\".",
            "health",
            &choice(&config.health),
        );
        self.key(
            "How long a node may take to answer a ping.",
            "ping_timeout",
            &span(config.ping_timeout),
        );
        self.key(
            "How long to wait for a sign of the manager that leads before trying to lead.",
            "takeover_patience",
            &span(config.takeover_patience),
        );
    }

    fn tables(&mut self, config: &Config) {
        match config.failover.lease() {
            Some(timing) => self.lease(timing),
            None => {
                self.0 += "# With failover = \"lease\": a profile (\"fast\", \"default\" or \"single-manager\"), or times of your own.\n# [lease]\n# profile = \"default\"\n\n"
            }
        }
        match &config.tls {
            Some(files) => {
                self.0 += "[tls]\n";
                self.key("The authority of the cluster.", "ca", &path(&files.ca));
                self.key(
                    "The certificate of this manager.",
                    "certificate",
                    &path(&files.certificate),
                );
                self.key("Its private key.", "key", &path(&files.key));
            }
            None => {
                self.0 += "# Without certificates only nodes on this host can connect; `ostrakon certs` makes them.\n# [tls]\n# dir = \"certs\"\n\n"
            }
        }
        self.0 += "[admin]\n";
        self.key(
            "Where the dashboard and the admin API are.",
            "listen",
            &text(&config.admin_listen),
        );
        let word = "The file with the token that lets its bearer change things; or set OSTRAKON_ADMIN_TOKEN.";
        match &config.admin_token_file {
            Some(file) => self.key(word, "token_file", &path(file)),
            None => {
                let _ = write!(self.0, "# {word}\n# token_file = \"admin.token\"\n");
            }
        }
    }

    fn lease(&mut self, timing: LeaseTiming) {
        let times = timing.times();
        let time = |time: Duration| span(Span(time));
        self.0 += "[lease]\n";
        self.key("How often a node renews.", "renew", &time(times.renew));
        self.key(
            "How long a node acts after a renewal.",
            "hold",
            &time(times.hold),
        );
        self.key(
            "How long code of a node may run on after that.",
            "slack",
            &time(times.slack),
        );
        self.key(
            "How long others wait for a silent node.",
            "wait",
            &time(times.wait),
        );
        self.key(
            "How wrong clocks may be, in thousandths.",
            "drift_permille",
            &times.drift_permille.to_string(),
        );
    }

    fn key(&mut self, word: &str, key: &str, value: &str) {
        let _ = write!(self.0, "# {word}\n{key} = {value}\n\n");
    }
}

fn text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn path(path: &Path) -> String {
    text(&path.display().to_string())
}

fn span(span: Span) -> String {
    text(&span.to_string())
}

fn choice(choice: &impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    text(value.as_ref().map_or("", |value| value.get_name()))
}

/// What is printed is kept and sent around; a password must not be.
pub(crate) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::from_toml;
    use super::*;

    #[test]
    fn what_is_printed_makes_the_same_configuration() {
        for set in [
            "",
            "name = \"m-2\"\nfailover = \"lease\"\nrebalance_rate = 1.0\nhealth = \"ping\"\nplacement = \"at-first-access\"\n[lease]\nprofile = \"fast\"\n[tls]\ndir = \"c\\\"q\"\n[admin]\nlisten = \"127.0.0.1:1\"\ntoken_file = \"t\"",
            "storage_accept_loss = true\nstorage = \"memory:\"\ndata_dir = \"d\"\nrebalance_interval = \"1500ms\"",
        ] {
            let config = Config::new(from_toml(set).unwrap()).unwrap();
            let text = printed(&config);
            let again = Config::new(from_toml(&text).unwrap()).unwrap();
            assert_eq!(again, config, "{text}");
        }
    }

    #[test]
    fn passwords_are_not_printed() {
        let config =
            Config::new(from_toml("storage = \"postgres://me:secret@db/x\"").unwrap()).unwrap();
        assert!(!printed(&config).contains("secret"));
        assert!(printed(&config).contains("postgres://…@db/x"));
    }
}
