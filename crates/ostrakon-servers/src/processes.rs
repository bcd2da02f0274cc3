//! A process and its children, and signals to them by their ids.
//!
//! PostgreSQL has a process for each connection, each in a session of its own: stopping the first of them alone stops nothing.

use std::fs;
use std::process::Command;

/// What can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Terminate,
    Interrupt,
    Kill,
    Pause,
    Resume,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "-TERM",
            Self::Interrupt => "-INT",
            Self::Kill => "-KILL",
            Self::Pause => "-STOP",
            Self::Resume => "-CONT",
        }
    }
}

/// To one process.
pub(crate) fn signal(pid: u32, signal: Signal) {
    // A process that has ended meanwhile is no failure: the caller sees it when it waits.
    let _ = Command::new("kill")
        .args([signal.name(), &pid.to_string()])
        .output();
}

/// To a process and all that it has started. It is paused first, lest it starts more meanwhile.
pub(crate) fn signal_all(pid: u32, what: Signal) {
    signal(pid, Signal::Pause);
    for child in children(pid) {
        signal(child, what);
    }
    signal(pid, what);
}

fn children(of: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| parent(*id) == Some(of)).collect()
}

/// The second field after the name, which is in parentheses and may have any character in it.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_by_its_parent() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        signal(child.id(), Signal::Kill);
        child.wait().unwrap();
        assert!(!children(std::process::id()).contains(&child.id()));
    }
}
