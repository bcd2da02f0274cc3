//! `Etcd`: a cluster of one.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::daemon::{Daemon, Recipe, free_port, on_a_free_port};
use crate::processes::Signal;
use crate::{Folder, StartError, program};

const PACKAGE: &str = "etcd-server";

/// An etcd server.
pub struct Etcd {
    // Before its folder, so that it ends before that goes.
    daemon: Daemon,
    port: u16,
    _folder: Folder,
}

impl Etcd {
    /// Starts one.
    pub fn start() -> Result<Self, StartError> {
        let folder = Folder::new("etcd").map_err(StartError::io("create a folder"))?;
        let (port, daemon) = on_a_free_port(|port| Daemon::start(recipe(&folder, port)?))?;
        Ok(Self {
            daemon,
            port,
            _folder: folder,
        })
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
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

fn recipe(folder: &Folder, port: u16) -> Result<Recipe, StartError> {
    let folder = folder.path().display();
    let clients = format!("http://127.0.0.1:{port}");
    let peers = format!("http://127.0.0.1:{}", free_port()?);
    let arguments = [
        ("--name", "one".to_owned()),
        ("--data-dir", format!("{folder}/data-{port}")),
        ("--listen-client-urls", clients.clone()),
        ("--advertise-client-urls", clients),
        ("--listen-peer-urls", peers.clone()),
        ("--initial-advertise-peer-urls", peers.clone()),
        ("--initial-cluster", format!("one={peers}")),
    ];
    let arguments = arguments.map(|(name, value)| [name.to_owned(), value]);
    Ok(Recipe {
        program: program::find("etcd", PACKAGE)?,
        arguments: arguments.concat(),
        user: None,
        log: format!("{folder}/log").into(),
        stop: Signal::Terminate,
        serves: Box::new(move || serves(port).unwrap_or(false)),
    })
}

/// It has a leader, namely itself.
fn serves(port: u16) -> std::io::Result<bool> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer.contains(r#""health":"true""#))
}
