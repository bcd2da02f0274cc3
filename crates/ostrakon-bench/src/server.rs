//! The other process of a remote measurement.
//!
//! The client starts it, reads one line from it (where to connect to) and keeps
//! its stdin open; the server ends when that closes, however the client ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::{env, io, thread};

use anyhow::{Context, Result, ensure};

use crate::case::Place;
use crate::contenders::Name;
use crate::contenders::remote::{Job, Remote, with};
use crate::measure::{Link, Runtime};

/// A running server, seen from its client.
pub(crate) struct Server {
    process: Child,
    /// What it wants `connect` to be called with.
    pub(crate) address: String,
    pub(crate) link: Link,
}

impl Server {
    pub(crate) fn start(name: Name, runtime: Runtime, place: Place, link: Link) -> Result<Self> {
        let process = on_core(place.server_core())?
            .args(["serve", &name.label(), &runtime.label(), &link.label()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a server")?;
        let mut server = Self {
            process,
            address: String::new(),
            link,
        };
        server.wait_until_it_serves()?;
        Ok(server)
    }

    fn wait_until_it_serves(&mut self) -> Result<()> {
        let output = self.process.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(!line.is_empty(), "the server ended before it served");
        self.address = line.trim_end().to_owned();
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Either may fail only because the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// This same program, confined to a core where one is given.
pub(crate) fn on_core(core: Option<usize>) -> io::Result<Command> {
    let program = env::current_exe()?;
    Ok(core.map_or_else(
        || Command::new(&program),
        |core| {
            let mut command = Command::new("taskset");
            command.args(["-c", &core.to_string()]).arg(&program);
            command
        },
    ))
}

/// Be the server.
pub(crate) fn serve(name: Name, runtime: Runtime, link: Link) -> Result<ExitCode> {
    thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    with(name, Serve { runtime, link })
}

struct Serve {
    runtime: Runtime,
    link: Link,
}

impl Job for Serve {
    type Done = ExitCode;

    fn run<R: Remote>(self) -> Result<ExitCode> {
        self.runtime.start()?.block_on(async {
            let (address, _host) = tokio::spawn(R::serve(self.link)).await??;
            println!("{address}");
            io::stdout().flush()?;
            std::future::pending().await
        })
    }
}
