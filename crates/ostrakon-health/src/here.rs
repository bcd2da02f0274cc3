//! `Here`: where this process itself runs.
//!
//! Process numbers mean something only within one boot of one kernel and one process-id space. Whoever compares a number of its own with
//! one that a node has registered must know that both are from the same.

use std::{fs, path::Path};

use ostrakon_core::Registration;

/// The boot and the process-id space of this process.
#[derive(Clone, Debug)]
pub(crate) struct Here {
    boot: String,
    space: String,
}

impl Here {
    /// `None` where the system does not say it, or where `/proc` shows another space than this process lives in: the numbers in it would
    /// then be those of other processes.
    pub(crate) fn look() -> Option<Self> {
        let proc = Path::new("/proc");
        let boot = fs::read_to_string(proc.join("sys/kernel/random/boot_id")).ok()?;
        let space = fs::read_link(proc.join("self/ns/pid")).ok()?;
        let status = fs::read_to_string(proc.join("self/status")).ok()?;
        if !shows_own_space(&status, std::process::id()) {
            return None;
        }
        Some(Self {
            boot: boot.trim().to_owned(),
            space: space.to_str()?.to_owned(),
        })
    }

    /// Whether the node runs under the same kernel.
    pub(crate) fn is_host_of(&self, node: &Registration) -> bool {
        node.place.get("process.boot") == Some(&self.boot)
    }

    /// Whether the node's number is one that this process would use too.
    pub(crate) fn shares_numbers_with(&self, node: &Registration) -> bool {
        self.is_host_of(node) && node.place.get("process.space") == Some(&self.space)
    }
}

/// A process has a number in its own space and in every one around it. `/proc` lists them from its own space inwards: if that is this
/// process's own, there is only one.
fn shows_own_space(status: &str, own: u32) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().eq([own.to_string()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proc_of_an_outer_space_is_not_believed() {
        assert!(shows_own_space("Name:\tx\nNSpid:\t7\nThreads:\t1\n", 7));
        assert!(!shows_own_space("Name:\tx\nNSpid:\t7\t7\n", 7));
        assert!(!shows_own_space("Name:\tx\nNSpid:\t4711\t7\n", 7));
        assert!(!shows_own_space("Name:\tx\n", 7));
    }
}
