//! `Process`: asks the kernel about a node on the same host.
//!
//! A process is known by the boot of its host, its process-id space, its number and the moment it began: together these never come
//! again. If the number is free, or somebody else's, that process is gone, and a gone process does nothing any more. One that is stopped
//! is not gone: it may be continued at any time.
//!
//! Invariant: `Dead` only when the kernel has said so of exactly that process. Outside of it are machines whose memory was copied while
//! they ran (both have the same boot), and processes that were restored from a checkpoint (they have another beginning).

mod stat;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::{fs, io};

use ostrakon_core::{DeathProof, Liveness, Registration};
use stat::Stat;

use crate::{BoxFuture, Health, here::Here};

/// Proof from the kernel, for nodes on the same host in the same process-id space. Of others it knows nothing.
///
/// It reads a few lines that the kernel keeps in memory: there is nothing to wait for, and so no deadline to set.
#[derive(Debug)]
pub struct Process {
    here: Option<Here>,
}

impl Process {
    /// Looks at where this process runs. Where the system does not say it, as elsewhere than on Linux, everything will be unknown.
    pub fn new() -> Self {
        let here = Here::look();
        if here.is_none() {
            tracing::info!(
                "this system does not tell processes apart well enough to prove one gone"
            );
        }
        Self { here }
    }

    fn look(&self, node: &Registration) -> Liveness {
        let shares_numbers = self
            .here
            .as_ref()
            .is_some_and(|here| here.shares_numbers_with(node));
        match Identity::of(node) {
            Some(identity) if shares_numbers => {
                let stat = fs::read_to_string(format!("/proc/{}/stat", identity.id));
                identity.judge(stat, is_free, shares_time)
            }
            Some(_) | None => Liveness::Unknown,
        }
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::new()
    }
}

impl Health for Process {
    fn name(&self) -> &str {
        "process"
    }

    fn probe<'a>(&'a self, node: &'a Registration) -> BoxFuture<'a, Liveness> {
        Box::pin(async move { self.look(node) })
    }
}

/// Which process it was, among those that share its numbers.
#[derive(Clone, Copy, Debug)]
struct Identity {
    id: i32,
    began: u64,
}

impl Identity {
    fn of(node: &Registration) -> Option<Self> {
        let id = node.place.get("process.id")?.parse().ok()?;
        let began = node.place.get("process.began")?.parse().ok()?;
        (id > 0).then_some(Self { id, began })
    }

    /// From what `/proc` has about whoever has this number now.
    fn judge(
        self,
        stat: io::Result<String>,
        is_free: impl FnOnce(i32) -> bool,
        shares_time: impl FnOnce(i32) -> bool,
    ) -> Liveness {
        let gone = Liveness::Dead(DeathProof::ProcessGone);
        match stat.map(|text| Stat::read(&text)) {
            Ok(Some(stat)) if stat.began == self.began && stat.has_ended() => gone,
            Ok(Some(stat)) if stat.began == self.began => Liveness::Alive,
            Ok(Some(_)) if shares_time(self.id) => gone,
            // A `/proc` that hides the processes of others has no entry either, so a second witness is needed.
            Err(error) if is_nobody(&error) && is_free(self.id) => gone,
            Ok(Some(_) | None) | Err(_) => Liveness::Unknown,
        }
    }
}

/// There was nobody to open, or nobody any more to read.
fn is_nobody(error: &io::Error) -> bool {
    const NO_SUCH_PROCESS: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

/// Whether no process at all, hidden or not, has this number in our own space.
#[cfg(target_os = "linux")]
fn is_free(id: i32) -> bool {
    use rustix::{io::Errno, process};
    process::Pid::from_raw(id).is_some_and(|id| process::test_kill_process(id) == Err(Errno::SRCH))
}

#[cfg(not(target_os = "linux"))]
fn is_free(_: i32) -> bool {
    false
}

/// Whether the process with this number counts time from the same moment as we do. In another time namespace it says of itself that it
/// began at another moment than we read of it. Kernels without such namespaces have one time for all.
fn shares_time(id: i32) -> bool {
    let offsets = |who: &str| fs::read_to_string(format!("/proc/{who}/timens_offsets"));
    match (offsets("self"), offsets(&id.to_string())) {
        (Ok(ours), Ok(theirs)) => ours == theirs,
        (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
        (Ok(_), Err(_)) => false,
    }
}
