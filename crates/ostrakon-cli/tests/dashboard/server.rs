//! `Server`: a manager's process, and processes of nodes.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Stdio},
};

use crate::folder::Folder;

/// Shards go to new nodes at once, and many of them at a time.
const SETTINGS: &str =
    "--admin-token-file token --rebalance-interval 1s --rebalance-rate 1 --most-moving 100";

/// A process that ends with whoever started it.
pub(crate) struct Process(Child);

/// A running manager.
pub(crate) struct Server {
    process: Process,
    /// Where nodes find it.
    pub(crate) nodes: String,
    /// Where its admin API is.
    pub(crate) admin: String,
}

impl Server {
    pub(crate) fn start(folder: &Folder, settings: &str) -> Self {
        let anywhere = "--listen 127.0.0.1:0 --admin-listen 127.0.0.1:0";
        Self::run(folder, &format!("{settings} {anywhere}"))
    }

    /// The manager is killed, and another one is started in its place when `meanwhile` is over.
    pub(crate) async fn replace(
        self,
        folder: &Folder,
        meanwhile: impl Future<Output = ()>,
    ) -> Self {
        let Self {
            process,
            nodes,
            admin,
        } = self;
        drop(process);
        meanwhile.await;
        Self::run(folder, &format!("--listen {nodes} --admin-listen {admin}"))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.admin)
    }

    fn run(folder: &Folder, settings: &str) -> Self {
        let arguments = format!("manager {SETTINGS} {settings} --log warn");
        let (process, mut said) = Process::start(folder, &arguments);
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let part = |before: &str| {
            let (_, rest) = line
                .split_once(before)
                .unwrap_or_else(|| panic!("{line:?}"));
            rest.split([';', '\n']).next().unwrap().to_owned()
        };
        Self {
            process,
            nodes: part("nodes connect to "),
            admin: part("admin API at http://"),
        }
    }
}

impl Process {
    pub(crate) fn start(folder: &Folder, arguments: &str) -> (Self, BufReader<ChildStdout>) {
        let mut command = folder.command(arguments);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        (Self(child), said)
    }

    /// A node that hosts accounts.
    pub(crate) fn node(folder: &Folder, server: &Server, name: &str) -> Self {
        fs::create_dir_all(folder.0.join("journal")).unwrap();
        let arguments = format!(
            "demo-node --name {name} --cluster ostrakon --manager {} --journal journal --node-version 1.4.0 --listen 127.0.0.1:0",
            server.nodes
        );
        let (process, said) = Self::start(folder, &arguments);
        let mut lines = said.lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "ready"), "{name} did not join");
        process
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
