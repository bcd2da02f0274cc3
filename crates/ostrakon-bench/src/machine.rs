//! What the numbers were measured on: cores, memory, compiler, versions.
//!
//! Read from `/proc` and from ordinary commands; whatever cannot be found out is
//! called unknown rather than failing a run that has already been measured.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result};

/// Resident memory of this process.
pub(crate) fn resident_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kilobytes = kilobytes(&status, "VmRSS:").context("no VmRSS in /proc/self/status")?;
    Ok(kilobytes * 1024)
}

/// Processor time of all threads that a process has, in user space and in the
/// kernel. Threads that have ended are not in it.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let path = thread?.path().join("schedstat");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {path:?}"))?;
        let running = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
        nanos += running.unwrap_or(0u64);
    }
    Ok(Duration::from_nanos(nanos))
}

/// One-minute load average, to show what else was running.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().map_or_else(unknown, str::to_owned)
}

/// Cores, processor and memory in one line.
pub(crate) fn describe() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or_else(unknown, |rest| {
            rest.trim_start_matches([' ', '\t', ':']).to_owned()
        });
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let gigabytes = kilobytes(&memory, "MemTotal:").unwrap_or_default() >> 20;
    format!("{cores} cores ({model}), {gigabytes} GiB of memory")
}

/// The compiler's own line about itself.
pub(crate) fn rustc_version() -> String {
    first_line(Command::new("rustc").arg("--version"))
}

/// Today, in UTC.
pub(crate) fn date() -> String {
    first_line(Command::new("date").args(["-u", "+%F"]))
}

/// Where the workspace lies.
pub(crate) fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `crates` with the versions that the lock file gives them.
pub(crate) fn crate_versions(crates: &[&str]) -> String {
    let lock = fs::read_to_string(workspace_root().join("Cargo.lock")).unwrap_or_default();
    let versions = crates.iter().map(|name| {
        let version = locked_version(&lock, name).map_or_else(unknown, str::to_owned);
        format!("{name} {version}")
    });
    versions.collect::<Vec<_>>().join(", ")
}

fn locked_version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("\nname = \"{name}\"\nversion = \""))?;
    rest.split('"').next()
}

fn kilobytes(table: &str, key: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().ok().filter(|done| done.status.success());
    let text = output.and_then(|done| String::from_utf8(done.stdout).ok());
    text.and_then(|text| text.lines().next().map(str::to_owned))
        .unwrap_or_else(unknown)
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_one_below_its_own_name() {
        let lock = "[[package]]\nname = \"tokio-util\"\nversion = \"0.7\"\n\n\
                    [[package]]\nname = \"tokio\"\nversion = \"1.2\"\n";
        assert_eq!(locked_version(lock, "tokio"), Some("1.2"));
        assert_eq!(locked_version(lock, "kameo"), None);
    }

    #[test]
    fn processor_time_is_that_of_work_on_any_thread() {
        let before = cpu_time(std::process::id()).unwrap();
        let (worked, wait_for_work) = std::sync::mpsc::channel();
        let (counted, wait_for_count) = std::sync::mpsc::channel::<()>();
        let worker = thread::spawn(move || {
            let started = std::time::Instant::now();
            while started.elapsed() < Duration::from_millis(50) {
                std::hint::spin_loop();
            }
            worked.send(()).unwrap();
            // Once ended, this thread would not be counted.
            assert!(wait_for_count.recv().is_err());
        });
        wait_for_work.recv().unwrap();
        let spent = cpu_time(std::process::id()).unwrap() - before;
        drop(counted);
        worker.join().unwrap();
        assert!(spent > Duration::from_millis(5), "{spent:?}");
    }

    #[test]
    fn resident_memory_grows_with_what_is_touched() {
        let before = resident_bytes().unwrap();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let grown = resident_bytes().unwrap() - before;
        assert!(grown > 60 << 20, "{grown} bytes for {}", block.len());
    }
}
