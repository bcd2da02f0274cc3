//! One child process: its output shown as it comes, and the parts a step judges by kept.
//!
//! Standard output goes through us, line by line, because the test counts and the last line
//! of the demo are read from it; standard error goes straight to the terminal. A child that
//! has a time limit never outlives it. What a result means is for the step to say.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io};

use anyhow::{Context, bail, ensure};

use crate::tally::Tally;

/// What is left of a child that ended by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The sum of all test summaries it printed.
    pub(crate) tally: Tally,
}

impl Ended {
    pub(crate) fn require_success(self) -> anyhow::Result<Self> {
        ensure!(self.status.success(), "ended with {}", self.status);
        Ok(self)
    }
}

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace")
}

/// The cargo that started us, in the workspace root.
pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace_root());
    command
}

/// Runs to the end, or to the limit: then the child is killed and that is an error.
pub(crate) fn run(mut command: Command, limit: Option<Duration>) -> anyhow::Result<Ended> {
    let shown = shown(&command);
    println!("$ {shown}");
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{shown}`"))?;
    let mut output = Output::of(child.stdout.take().expect("stdout is piped"));
    loop {
        if let Some(status) = output.show_more(&mut child)? {
            return Ok(output.finish(status));
        }
        if let Some(limit) = limit.filter(|limit| started.elapsed() >= *limit) {
            child.kill()?;
            child.wait()?;
            bail!("`{shown}` was still running after {limit:?} and was killed");
        }
    }
}

/// The command as one would type it, environment included.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}='{value}'", name.to_string_lossy()))
    });
    let words = [program].into_iter().chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned());
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// The standard output of a running child.
struct Output {
    lines: Receiver<String>,
    tally: Tally,
}

impl Output {
    fn of(stdout: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                // Nobody listens any more once the child was killed.
                if sender.send(String::from_utf8_lossy(&line).into()).is_err() {
                    break;
                }
            }
        });
        Self {
            lines,
            tally: Tally::NOTHING,
        }
    }

    /// Shows one line, or finds after a moment of silence whether the child has exited.
    fn show_more(&mut self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        match self.lines.recv_timeout(POLL) {
            Ok(line) => {
                self.show(&line);
                return Ok(None);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Output is closed, so that only the exit can come: there is nothing to wait on
            // that would also respect the limit.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
        }
        child.try_wait()
    }

    /// Shows what was still on its way when the child exited. Does not wait for the pipe to
    /// close: a process that the child left behind may hold it open for ever.
    fn finish(mut self, status: ExitStatus) -> Ended {
        while let Ok(line) = self.lines.recv_timeout(STRAGGLERS) {
            self.show(&line);
        }
        Ended {
            status,
            tally: self.tally,
        }
    }

    fn show(&mut self, line: &str) {
        println!("{line}");
        self.tally += Tally::of_line(line);
    }
}

const POLL: Duration = Duration::from_millis(20);
const STRAGGLERS: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn counts_are_kept() {
        let script = "echo 'test result: ok. 2 passed; 0 failed; 1 ignored'; \
                      echo 'test result: FAILED. 3 passed; 1 failed; 0 ignored'; \
                      echo end; exit 3";
        let ended = run(sh(script), None).unwrap();
        let expected = Tally {
            passed: 5,
            failed: 1,
            skipped: 1,
        };
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(ended.tally, expected);
    }

    #[test]
    fn output_that_is_not_text_is_shown_all_the_same() {
        let script =
            r"printf 'a\377b'; echo; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        let ended = run(sh(script), None).unwrap();
        assert_eq!(ended.tally.passed, 1, "what came after it is read");
    }

    #[test]
    fn child_past_its_limit_is_killed() {
        let quiet = "exec sleep 600";
        let closed = "exec >&-; exec sleep 600";
        let chatty = "while :; do echo still here; done";
        for script in [quiet, closed, chatty] {
            let error = run(sh(script), Some(Duration::from_millis(50))).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("was killed"), "{message}");
        }
    }

    #[test]
    fn missing_program_is_named() {
        let error = run(Command::new("/nowhere/such-a-tool"), None).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `such-a-tool`");
    }

    #[test]
    fn command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/usr/bin/cargo");
        command.arg("doc").env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(shown(&command), "RUSTDOCFLAGS='-D warnings' cargo doc");
    }
}
