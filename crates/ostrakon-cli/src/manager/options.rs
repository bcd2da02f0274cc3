//! `Options`: the arguments of `ostrakon manager`, and the places that settings come from.

use std::{fs, path::PathBuf};

use anyhow::{Context, bail};
use clap::{Args, CommandFactory, Parser};

use super::{foreign, keys::Keys};

/// The arguments of `ostrakon manager`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// A TOML file with these settings
    #[arg(long, value_name = "FILE", env = "OSTRAKON_CONFIG")]
    config: Option<PathBuf>,
    /// Print the effective settings as such a file, and end
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Stop when the standard input ends, as it does with whoever started this
    #[arg(long, hide = true)]
    pub(crate) until_input_ends: bool,
    #[command(flatten)]
    keys: Keys,
}

/// To ask clap for the variables it knows.
#[derive(Parser)]
struct Known {
    #[command(flatten)]
    _options: Options,
}

/// Variables that other commands of this program read.
const OF_OTHERS: [&str; 4] = [
    "OSTRAKON_ADMIN",
    "OSTRAKON_ADMIN_TOKEN",
    "OSTRAKON_CERTS",
    "OSTRAKON_AS",
];

impl Options {
    /// What is set by flags and variables, and by the file where those say nothing.
    pub(crate) fn keys(&self) -> anyhow::Result<Keys> {
        refuse_unknown_variables(
            std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()),
        )?;
        let Some(file) = &self.config else {
            return Ok(self.keys.clone());
        };
        let text = fs::read_to_string(file)
            .with_context(|| format!("cannot read the config file {}", file.display()))?;
        let read =
            from_toml(&text).with_context(|| format!("in the config file {}", file.display()))?;
        Ok(self.keys.clone().or(read))
    }
}

/// Reads a file's text.
pub(crate) fn from_toml(text: &str) -> anyhow::Result<Keys> {
    let table: toml::Table = text.parse()?;
    for key in table.keys() {
        if let Some(reason) = foreign::reason(key) {
            bail!("`{key}` cannot be set here: {reason}");
        }
    }
    Ok(toml::from_str(text)?)
}

/// A misspelt variable would else count for nothing, and nobody would know.
fn refuse_unknown_variables(mut names: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let command = Known::command();
    let known: Vec<_> = command
        .get_arguments()
        .filter_map(|argument| argument.get_env()?.to_str())
        .collect();
    let is_strange = |name: &String| {
        let ours = name.starts_with("OSTRAKON_") && !is_of_a_platform(name);
        ours && !known.contains(&name.as_str()) && !OF_OTHERS.contains(&name.as_str())
    };
    match names.find(is_strange) {
        None => Ok(()),
        Some(name) => bail!(
            "the environment has {name}, which means nothing: `ostrakon manager --help` lists those that do"
        ),
    }
}

/// Kubernetes sets such variables for a service that is called `ostrakon…`.
fn is_of_a_platform(name: &str) -> bool {
    name.contains("_SERVICE_") || name.contains("_PORT_") || name.ends_with("_PORT")
}

const EXAMPLES: &str = "\
Settings come from a TOML file, from the environment and from flags; a flag outdoes a variable, and
a variable outdoes the file. Times are written as 500ms, 20s or 2m.

Without any, nodes on this host connect to 127.0.0.1:9470, the admin API is at
http://127.0.0.1:9471, and the log is in ostrakon-data/ostrakon.redb.

Exit code: 0 after SIGTERM or SIGINT, 1 if it could not start, 2 for settings that make no sense.

Examples:
  ostrakon manager                                 one manager for nodes on this host
  ostrakon manager --print-config > manager.toml   a file to begin with
  ostrakon manager --config manager.toml --name manager-2
  ostrakon manager --tls-dir certs --listen 0.0.0.0:9470
  openssl rand -hex 32 > admin.token && ostrakon manager --admin-token-file admin.token";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_refused_and_those_of_platforms_are_not() {
        let check = |name: &str| refuse_unknown_variables([name.to_owned()].into_iter());
        for fine in [
            "PATH",
            "OSTRAKON_LISTEN",
            "OSTRAKON_ADMIN_TOKEN",
            "OSTRAKON_CONFIG",
            "OSTRAKON_PORT_9470_TCP",
            "OSTRAKON_SERVICE_HOST",
            "OSTRAKON_PORT",
        ] {
            assert!(check(fine).is_ok(), "{fine}");
        }
        let error = check("OSTRAKON_LISEN").unwrap_err().to_string();
        assert!(error.contains("OSTRAKON_LISEN"), "{error}");
    }

    #[test]
    fn flags_outdo_the_file() {
        let file =
            from_toml("name = \"a\"\nlisten = \"127.0.0.1:1\"\n[admin]\nlisten = \"127.0.0.1:2\"")
                .unwrap();
        let flags = Keys {
            name: Some("b".to_owned()),
            ..Keys::default()
        };
        let both = flags.or(file);
        assert_eq!(both.name.as_deref(), Some("b"));
        assert_eq!(both.listen.as_deref(), Some("127.0.0.1:1"));
        assert_eq!(both.admin.listen.as_deref(), Some("127.0.0.1:2"));
    }

    #[test]
    fn unknown_keys_and_wrong_values_are_refused_by_name() {
        let refused = |text: &str| format!("{:#}", from_toml(text).unwrap_err());
        assert!(refused("lisen = \"x\"").contains("lisen"));
        assert!(refused("[admin]\ntoken = \"x\"").contains("token"));
        assert!(refused("rebalance_interval = 20").contains("rebalance_interval"));
        assert!(refused("rebalance_interval = \"20\"").contains("500ms, 20s or 2m"));
        assert!(refused("failover = \"hope\"").contains("hope"));
        assert!(refused("health = \"hearsay\"").contains("hearsay"));
        assert!(refused("name = ").contains("name"));
    }

    #[test]
    fn keys_of_the_original_that_mean_nothing_here_are_explained() {
        let refused = |text: &str| format!("{:#}", from_toml(text).unwrap_err());
        assert!(refused("number_of_shards = 300").contains("nodes"));
        assert!(refused("numberOfShards = 300").contains("nodes"));
        assert!(refused("persistRetryCount = 100").contains("before"));
        assert!(refused("api_port = 8080").contains("admin"));
        assert!(refused("rebalanceInterval = \"20s\"").contains("`rebalance_interval`"));
    }
}
