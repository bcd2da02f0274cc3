//! A manager or a witness that runs, and its operators.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::folder::{Folder, complaint};

/// A running manager, or a witness.
pub(crate) struct Manager<'f> {
    folder: &'f Folder,
    process: Child,
    pub(crate) nodes: SocketAddr,
    pub(crate) admin: String,
    /// The line it began with.
    pub(crate) said: String,
}

impl<'f> Manager<'f> {
    pub(crate) fn start(folder: &'f Folder) -> Self {
        let manager = Self::start_with(folder, "--admin-token-file token");
        manager.until("its lead", |status| status["leader"]["is_this"] == true);
        manager
    }

    pub(crate) fn start_with(folder: &'f Folder, arguments: &str) -> Self {
        Self::run(folder, &format!("manager {arguments}"), "nodes connect to ")
    }

    /// A witness of the peers at these seeds.
    pub(crate) fn witness(folder: &'f Folder, seeds: &[String]) -> Self {
        let arguments = format!(
            "witness --name w1 --seed {} --admin-token-file token",
            seeds.join(" ")
        );
        Self::run(folder, &arguments, "peers connect to ")
    }

    fn run(folder: &'f Folder, arguments: &str, before_address: &str) -> Self {
        let everywhere = "--listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --log warn";
        let mut process = folder
            .command(&format!("{arguments} {everywhere}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let part = |before: &str| {
            said.split_once(before)
                .unwrap_or_else(|| panic!("{said:?}"))
                .1
                .split([';', '\n'])
                .next()
                .unwrap()
        };
        Self {
            nodes: part(before_address).parse().unwrap(),
            admin: part("admin API at ").to_owned(),
            folder,
            process,
            said: said.clone(),
        }
    }

    /// A verb of this manager's operators.
    pub(crate) fn verb(&self, arguments: &str) -> Command {
        let mut command = self.folder.command(arguments);
        command
            .env("OSTRAKON_ADMIN", &self.admin)
            .env("OSTRAKON_ADMIN_TOKEN_FILE", "token");
        command
    }

    /// Runs what must succeed; returns what it says.
    pub(crate) fn does(&self, arguments: &str) -> String {
        let output = self.verb(arguments).output().unwrap();
        complaint(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, arguments: &str) -> Value {
        let text = self.does(&format!("{arguments} --json"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub(crate) fn refuses(&self, arguments: &str) -> String {
        complaint(&self.verb(arguments).output().unwrap(), 1)
    }

    /// Waits until the status is as wanted.
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let status = self.json("status");
            if wanted(&status) {
                return status;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{what} did not happen in time: {status:#}"
            );
        }
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(mut self, signal: &str) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        self.process.wait().unwrap().code()
    }
}

impl Drop for Manager<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
