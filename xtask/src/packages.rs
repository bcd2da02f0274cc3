//! The Debian packages that the tests need beyond the Rust toolchain and gcc.
//!
//! The table below is the only list of them. A package counts as present when the program or
//! file in its row is there, whoever put it there; only what is missing is installed, and on a
//! machine that has everything nothing is run at all.

use std::process::Command;
use std::{env, fmt};

use anyhow::{Context, ensure};

use crate::child;

/// Package, the program on `PATH` (or absolute file) that shows it is there, what needs it.
const NEEDED: &[(&str, &str, &str)] = &[
    (
        "chromium",
        "chromium",
        "the dashboard is tested in a browser",
    ),
    (
        "chromium-driver",
        "chromedriver",
        "the dashboard is tested in a browser",
    ),
    (
        "curl",
        "curl",
        "the gateway is tried as programs in other languages use it",
    ),
    (
        "etcd-server",
        "etcd",
        "the storage tests run against a real server",
    ),
    (
        "iproute2",
        "ip",
        "the fault tests cut a node off in network namespaces",
    ),
    (
        "libprotobuf-dev",
        "/usr/include/google/protobuf/descriptor.proto",
        "the client of etcd is generated when it is built",
    ),
    ("mount", "mount", "the storage tests fill a small disk"),
    (
        "postgresql",
        "/usr/bin/pg_ctlcluster",
        "the storage tests run against a real server",
    ),
    ("procps", "kill", "tests end the processes they started"),
    (
        "prometheus",
        "promtool",
        "the board and the alerts are tried with a real server",
    ),
    (
        "protobuf-compiler",
        "protoc",
        "the client of etcd is generated when it is built",
    ),
    (
        "redis-server",
        "redis-server",
        "the storage tests run against a real server",
    ),
];

/// Installs what is missing; an error names each package that could not be had.
pub(crate) fn provide() -> anyhow::Result<()> {
    let needed: Vec<Package> = NEEDED.iter().copied().map(Package::from).collect();
    let missing = missing(&needed, is_there);
    for package in &missing {
        println!("missing {package}");
    }
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    install(&missing)
}

fn install(missing: &[Package]) -> anyhow::Result<()> {
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    let names = names.join(", ");
    for words in install_commands(missing, User::current()?) {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        child::run(command, None)
            .and_then(child::Ended::require_success)
            .with_context(|| format!("cannot install {names}; do it by hand and try again"))?;
    }
    for package in missing {
        ensure!(
            is_there(package.shown_by),
            "{} is installed, but {} is still not found",
            package.name,
            package.shown_by
        );
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Package {
    name: &'static str,
    shown_by: &'static str,
    why: &'static str,
}

impl From<(&'static str, &'static str, &'static str)> for Package {
    fn from((name, shown_by, why): (&'static str, &'static str, &'static str)) -> Self {
        Self {
            name,
            shown_by,
            why,
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

/// Who runs us: installing takes the rights of root.
#[derive(Clone, Copy)]
enum User {
    Root,
    Ordinary,
}

impl User {
    fn current() -> anyhow::Result<Self> {
        let id = Command::new("id").arg("-u").output();
        let id = id.context("cannot ask `id -u` who is installing")?;
        Ok(match id.stdout.trim_ascii() {
            b"0" => Self::Root,
            _ => Self::Ordinary,
        })
    }
}

fn missing(needed: &[Package], is_there: impl Fn(&str) -> bool) -> Vec<Package> {
    let absent = |package: &&Package| !is_there(package.shown_by);
    needed.iter().filter(absent).copied().collect()
}

/// The command lines, in order, that bring the missing packages.
fn install_commands(missing: &[Package], user: User) -> Vec<Vec<&'static str>> {
    if missing.is_empty() {
        return Vec::new();
    }
    // `sudo` drops the environment, so the variable has to travel inside the command.
    let apt: &[&str] = match user {
        User::Root => &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"],
        User::Ordinary => &["sudo", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"],
    };
    let install = ["install", "-y", "--no-install-recommends"];
    let names = missing.iter().map(|package| package.name);
    vec![
        apt.iter().copied().chain(["update"]).collect(),
        apt.iter().copied().chain(install).chain(names).collect(),
    ]
}

/// An absolute path stands for itself: joined to a folder, it replaces it.
fn is_there(shown_by: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(shown_by).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASE: Package = Package {
        name: "postgresql",
        shown_by: "/usr/bin/pg_ctlcluster",
        why: "the storage tests run against a real server",
    };
    const CACHE: Package = Package {
        name: "redis-server",
        shown_by: "redis-server",
        why: "the storage tests run against a real server",
    };

    #[test]
    fn only_packages_that_do_not_show_are_missing() {
        let needed = [DATABASE, CACHE];
        assert_eq!(missing(&needed, |_| true), []);
        assert_eq!(missing(&needed, |_| false), needed);
        assert_eq!(
            missing(&needed, |shown| shown == "redis-server"),
            [DATABASE]
        );
    }

    #[test]
    fn one_update_and_one_install_bring_all_that_is_missing() {
        let commands = install_commands(&[DATABASE, CACHE], User::Root);
        let lines: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
        let apt = "env DEBIAN_FRONTEND=noninteractive apt-get";
        assert_eq!(
            lines,
            [
                format!("{apt} update"),
                format!("{apt} install -y --no-install-recommends postgresql redis-server"),
            ]
        );
    }

    #[test]
    fn ordinary_user_installs_through_sudo() {
        for words in install_commands(&[CACHE], User::Ordinary) {
            assert_eq!(words[..2], ["sudo", "env"]);
        }
    }

    #[test]
    fn nothing_missing_runs_nothing() {
        assert!(install_commands(&[], User::Ordinary).is_empty());
    }

    #[test]
    fn program_is_found_on_the_path_and_file_where_it_is() {
        assert!(is_there("sh"));
        assert!(is_there("/bin/sh"));
        assert!(!is_there("no-such-program"));
        assert!(!is_there("/no/such/file"));
    }
}
