//! `Redis`: a server with the settings that a test wants.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::daemon::{Daemon, Recipe, on_a_free_port};
use crate::processes::Signal;
use crate::{Folder, StartError, program};

const PACKAGE: &str = "redis-server";

/// A Redis server.
pub struct Redis {
    // Before its folder, so that it ends before that goes.
    daemon: Daemon,
    port: u16,
    folder: Folder,
}

impl Redis {
    /// Settings that acknowledge nothing before it is on the disk.
    pub const DURABLE: &'static [(&'static str, &'static str)] =
        &[("appendonly", "yes"), ("appendfsync", "always")];

    /// Starts one with these settings, each as in `redis.conf`.
    pub fn start(settings: &[(&str, &str)]) -> Result<Self, StartError> {
        let folder = Folder::new("redis").map_err(StartError::io("create a folder"))?;
        Self::start_in(folder, settings)
    }

    /// Starts one with its data in this folder.
    pub fn start_in(folder: Folder, settings: &[(&str, &str)]) -> Result<Self, StartError> {
        let (port, daemon) =
            on_a_free_port(|port| Daemon::start(recipe(&folder, port, settings)?))?;
        Ok(Self {
            daemon,
            port,
            folder,
        })
    }

    /// Where it is, without a password.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Where its data are.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it in good order.
    pub fn stop(&mut self) {
        self.daemon.stop();
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.daemon.kill();
    }

    /// It does nothing until it is resumed; its connections stay.
    pub fn pause(&self) {
        self.daemon.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.daemon.resume();
    }

    /// Starts it again on the same port with the same data.
    pub fn restart(&mut self) -> Result<(), StartError> {
        self.daemon.restart()
    }
}

fn recipe(folder: &Folder, port: u16, settings: &[(&str, &str)]) -> Result<Recipe, StartError> {
    let folder = folder.path().display().to_string();
    let port_text = port.to_string();
    let own = [
        ("bind", "127.0.0.1"),
        ("port", port_text.as_str()),
        ("dir", folder.as_str()),
        // Snapshots beside the append-only file only cost time.
        ("save", ""),
    ];
    let all = own.iter().chain(settings);
    let arguments = all.flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]);
    Ok(Recipe {
        program: program::find("redis-server", PACKAGE)?,
        arguments: arguments.collect(),
        user: None,
        log: format!("{folder}/log").into(),
        stop: Signal::Terminate,
        serves: Box::new(move || serves(port).unwrap_or(false)),
    })
}

/// It has read its data when it answers a ping, or wants a password for it.
fn serves(port: u16) -> std::io::Result<bool> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.write_all(b"PING\r\n")?;
    let mut answer = [0; 7];
    connection.read_exact(&mut answer)?;
    Ok(matches!(&answer, b"+PONG\r\n" | b"-NOAUTH"))
}
