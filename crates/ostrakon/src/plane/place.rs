//! Where this process runs, as far as others could use it to find out that it is gone.
//!
//! A process is known by its host's boot, its process-id space, its number and when it began: together these never come again. On
//! Kubernetes the pod says its own identity in the environment, if the deployment passes it on, and a container says which run of it
//! this is by a mark in its termination log, which the platform shows beside the end of that run and of no other.

use std::{collections::BTreeMap, fs, io::Write, sync::OnceLock};

/// What the environment says of a pod, and what it is called here.
const POD: [(&str, &str); 4] = [
    ("POD_UID", "kubernetes.pod_uid"),
    ("POD_NAME", "kubernetes.pod"),
    ("POD_NAMESPACE", "kubernetes.namespace"),
    ("CONTAINER_NAME", "kubernetes.container"),
];

/// Kubernetes makes it for each run of a container.
const TERMINATION_LOG: &str = "/dev/termination-log";

pub(crate) fn here() -> BTreeMap<String, String> {
    let process = process();
    let pod = POD.into_iter().filter_map(|(variable, name)| {
        let value = std::env::var(variable).ok()?;
        Some((name.to_owned(), value))
    });
    let run = run_mark().map(|mark| ("kubernetes.run".to_owned(), mark));
    process.into_iter().chain(pod).chain(run).collect()
}

/// A mark that only this run of a container has, once it is in its termination log.
fn run_mark() -> Option<String> {
    static MARK: OnceLock<Option<String>> = OnceLock::new();
    let mark = || {
        let mut log = fs::OpenOptions::new()
            .append(true)
            .open(TERMINATION_LOG)
            .ok()?;
        let mark = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        writeln!(log, "ostrakon run {mark}").ok()?;
        Some(mark)
    };
    MARK.get_or_init(mark).clone()
}

/// Nothing at all where the system does not say everything: half an identity could be somebody else's.
fn process() -> Vec<(String, String)> {
    let facts = || {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let space = fs::read_link("/proc/self/ns/pid").ok()?;
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        Some(vec![
            ("process.boot", boot.trim().to_owned()),
            ("process.space", space.to_str()?.to_owned()),
            ("process.id", std::process::id().to_string()),
            ("process.began", began(&stat)?.to_owned()),
        ])
    };
    let facts = facts().unwrap_or_default().into_iter();
    facts
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The 22nd field. The second, the program's name, may contain blanks and brackets.
fn began(stat: &str) -> Option<&str> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_where_it_runs() {
        let here = here();
        assert_eq!(here["process.id"], std::process::id().to_string());
        assert!(here["process.began"].parse::<u64>().is_ok_and(|t| t > 0));
        assert!(here["process.space"].starts_with("pid:["));
        assert!(!here["process.boot"].is_empty());
    }

    #[test]
    fn the_name_of_the_program_does_not_confuse_it() {
        let stat = "7 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(began(stat), Some("4711"));
    }
}
