//! `Child`: a process of this program, which ends with whoever started it.
//!
//! A child holds on to its standard input and leaves when that is closed: so none is left behind, even if its parent is killed.

use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::ChildStdin,
    sync::watch,
};

use super::Place;

/// Where a process finds the token of its operators.
pub(crate) const TOKEN: &str = "OSTRAKON_ADMIN_TOKEN";
/// How long a child may take to leave.
const LEAVING: Duration = Duration::from_secs(40);

pub(crate) struct Child {
    process: tokio::process::Child,
    /// Held apart, because whoever waits for a process closes its input first.
    _input: Option<ChildStdin>,
    said: watch::Receiver<Vec<String>>,
}

impl Child {
    /// Whoever has the token may say what such a process shall do.
    pub(crate) fn start(place: &Place, arguments: &[String], token: &str) -> anyhow::Result<Self> {
        let mut process = place
            .program()?
            .args(arguments)
            .env(TOKEN, token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a process")?;
        let input = process.stdin.take();
        let output = process.stdout.take().context("it has no output")?;
        let (saying, said) = watch::channel(Vec::new());
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                saying.send_modify(|said| said.push(line));
            }
        });
        Ok(Self {
            process,
            _input: input,
            said,
        })
    }

    /// Waits until it has said a line that begins so.
    pub(crate) async fn said(&self, words: &str, within: Duration) -> anyhow::Result<()> {
        let mut said = self.said.clone();
        let has_said = |lines: &Vec<String>| lines.iter().any(|line| line.starts_with(words));
        match tokio::time::timeout(within, said.wait_for(has_said)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => bail!("it ended"),
            Err(_) => bail!("it did not say `{words}` within {within:?}"),
        }
    }

    /// The latest of these that it has said.
    pub(crate) fn last_said(&self, words: &[&'static str]) -> Option<&'static str> {
        let said = self.said.borrow();
        let mut latest = said.iter().rev();
        latest.find_map(|line| words.iter().find(|word| line == *word).copied())
    }

    /// What follows these words in the first line that has them.
    pub(crate) fn said_behind(&self, words: &str) -> Option<String> {
        let said = self.said.borrow();
        let found = said.iter().find_map(|line| line.split_once(words));
        found.map(|(_, rest)| rest.to_owned())
    }

    /// Ends when it says more than it has said when this was called.
    pub(crate) fn says_more(&self) -> impl Future<Output = ()> {
        let mut said = self.said.clone();
        said.mark_unchanged();
        async move {
            if said.changed().await.is_err() {
                // It says nothing any more.
                std::future::pending().await
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(Pid::from_raw).context("the process is gone")?;
        kill_process(id, signal).context("the process takes no signal")
    }

    /// Asks it to leave, and sees to it that it does.
    pub(crate) async fn end(&mut self) {
        let _ = self.signal(Signal::TERM);
        if tokio::time::timeout(LEAVING, self.process.wait())
            .await
            .is_err()
        {
            let _ = self.process.kill().await;
        }
    }

    /// Waits until it has ended, and says how.
    pub(crate) async fn ends(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Ends it without a word.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill().await.context("cannot kill the process")
    }
}
