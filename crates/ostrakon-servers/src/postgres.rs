//! `Postgres`: a server with one user, a password and one database.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Recipe, on_a_free_port};
use crate::processes::Signal;
use crate::program::{self, User};
use crate::{Folder, StartError};

const PACKAGE: &str = "postgresql";
const PASSWORD: &str = "only-for-tests";

/// A PostgreSQL server.
pub struct Postgres {
    // Before its folder, so that it ends before that goes.
    daemon: Daemon,
    port: u16,
    folder: Folder,
}

impl Postgres {
    /// Starts one with an empty database.
    pub fn start() -> Result<Self, StartError> {
        Self::start_with(&[])
    }

    /// Starts one with these settings, each as in `postgresql.conf`.
    pub fn start_with(settings: &[(&str, &str)]) -> Result<Self, StartError> {
        let folder = Folder::new("postgres").map_err(StartError::io("create a folder"))?;
        Self::start_in(folder, settings)
    }

    /// Starts one with its data in this folder.
    pub fn start_in(folder: Folder, settings: &[(&str, &str)]) -> Result<Self, StartError> {
        // It refuses to be run by root.
        let user = User::instead_of_root("postgres")?;
        if let Some(user) = user {
            user.own(folder.path())?;
        }
        create_data(folder.path(), user)?;
        let start = |port| Daemon::start(recipe(folder.path(), port, user, settings)?);
        let (port, daemon) = on_a_free_port(start)?;
        Ok(Self {
            daemon,
            port,
            folder,
        })
    }

    /// Where it is, with user and password.
    pub fn url(&self) -> String {
        format!(
            "postgres://postgres:{PASSWORD}@127.0.0.1:{}/postgres",
            self.port
        )
    }

    /// Where its data are.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it in good order; it does not wait for its clients.
    pub fn stop(&mut self) {
        self.daemon.stop();
    }

    /// Ends it at once, with all its processes.
    pub fn kill(&mut self) {
        self.daemon.kill();
    }

    /// All its processes do nothing until it is resumed; its connections stay.
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

fn create_data(folder: &Path, user: Option<User>) -> Result<(), StartError> {
    let password = folder.join("password");
    fs::write(&password, PASSWORD).map_err(StartError::io("write a password"))?;
    let program = program::find("initdb", PACKAGE)?;
    let mut command = Command::new(&program);
    command
        .args(["--username=postgres", "--auth=scram-sha-256", "--no-sync"])
        .args(["--encoding=UTF8", "--locale=C", "--pwfile"])
        .arg(&password)
        .arg("--pgdata")
        .arg(folder.join("data"))
        .current_dir("/");
    if let Some(user) = user {
        user.own(&password)?;
        user.run(&mut command);
    }
    let output = command.output().map_err(StartError::io("start initdb"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(StartError::Ended {
        program: program.display().to_string(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn recipe(
    folder: &Path,
    port: u16,
    user: Option<User>,
    settings: &[(&str, &str)],
) -> Result<Recipe, StartError> {
    let text = folder.display().to_string();
    let port_text = port.to_string();
    let own = [
        ("listen_addresses", "127.0.0.1"),
        ("port", port_text.as_str()),
        ("unix_socket_directories", text.as_str()),
        ("shared_buffers", "16MB"),
    ];
    let all = own.iter().chain(settings);
    let all = all.flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]);
    let data = ["-D".to_owned(), format!("{text}/data")];
    let is_ready = program::find("pg_isready", PACKAGE)?;
    Ok(Recipe {
        program: program::find("postgres", PACKAGE)?,
        arguments: data.into_iter().chain(all).collect(),
        user,
        log: folder.join("log"),
        stop: Signal::Interrupt,
        serves: Box::new(move || serves(&is_ready, port)),
    })
}

/// Its own program for this connects and asks: a server that is still recovering accepts connections too.
fn serves(is_ready: &Path, port: u16) -> bool {
    let status = Command::new(is_ready)
        .args(["--quiet", "--host=127.0.0.1", "--timeout=1", "--port"])
        .arg(port.to_string())
        .stdout(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
