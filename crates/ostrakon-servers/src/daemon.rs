//! `Daemon`: a server process that can be stopped, killed, paused and started again.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::StartError;
use crate::processes::{Signal, signal, signal_all};
use crate::program::User;

/// A cold machine that is busy with other tests needs far more than the usual second.
const READY_WITHIN: Duration = Duration::from_secs(60);
const STOPPED_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How a server is started.
pub(crate) struct Recipe {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) user: Option<User>,
    /// Where its words go.
    pub(crate) log: PathBuf,
    /// What makes it end in good order, without waiting for its clients.
    pub(crate) stop: Signal,
    /// Connects to it, and tells whether it serves.
    pub(crate) serves: Box<dyn Fn() -> bool + Send + Sync>,
}

pub(crate) struct Daemon {
    recipe: Recipe,
    child: Option<Child>,
}

impl Daemon {
    pub(crate) fn start(recipe: Recipe) -> Result<Self, StartError> {
        let mut daemon = Self {
            recipe,
            child: None,
        };
        daemon.restart()?;
        Ok(daemon)
    }

    /// Stops it if it runs, and starts it with the data that it has.
    pub(crate) fn restart(&mut self) -> Result<(), StartError> {
        self.stop();
        self.child = Some(self.spawn()?);
        let since = Instant::now();
        while !(self.recipe.serves)() {
            if self.has_ended() {
                self.child = None;
                return Err(self.ended());
            }
            if since.elapsed() > READY_WITHIN {
                let (program, said) = (self.name(), self.said());
                let after = READY_WITHIN;
                return Err(StartError::Silent {
                    program,
                    after,
                    said,
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    pub(crate) fn stop(&mut self) {
        if let Some(child) = &self.child {
            signal_all(child.id(), Signal::Resume);
            signal(child.id(), self.recipe.stop);
            let since = Instant::now();
            while !self.has_ended() && since.elapsed() < STOPPED_WITHIN {
                std::thread::sleep(LOOK_EVERY);
            }
            self.kill();
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            signal_all(child.id(), Signal::Kill);
            // Fails only if it was waited for already.
            let _ = child.wait();
        }
    }

    pub(crate) fn pause(&self) {
        self.signal_all(Signal::Pause);
    }

    pub(crate) fn resume(&self) {
        self.signal_all(Signal::Resume);
    }

    fn signal_all(&self, signal: Signal) {
        let child = self
            .child
            .as_ref()
            .expect("only a server that runs is paused");
        signal_all(child.id(), signal);
    }

    fn spawn(&self) -> Result<Child, StartError> {
        let Recipe {
            program,
            arguments,
            user,
            log,
            ..
        } = &self.recipe;
        let words = File::options().create(true).append(true).open(log);
        let words = words.map_err(StartError::io(format!("write {}", log.display())))?;
        let twice = words.try_clone().map_err(StartError::io("share a file"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(words)
            .stderr(twice);
        if let Some(user) = user {
            user.run(&mut command);
        }
        let tried = format!("start {}", program.display());
        command.spawn().map_err(StartError::io(tried))
    }

    fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    fn ended(&self) -> StartError {
        StartError::Ended {
            program: self.name(),
            said: self.said(),
        }
    }

    fn name(&self) -> String {
        self.recipe.program.display().to_string()
    }

    /// The last lines of its log.
    fn said(&self) -> String {
        let log = fs::read_to_string(&self.recipe.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("; ")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that was free a moment ago. Another program may take it before the server does: whoever starts one tries again with another.
pub(crate) fn free_port() -> Result<u16, StartError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    Ok(address.map_err(StartError::io("find a free port"))?.port())
}

/// Starts a server; if it ends at once, on another port, because somebody else may have been quicker.
pub(crate) fn on_a_free_port<T>(
    mut start: impl FnMut(u16) -> Result<T, StartError>,
) -> Result<(u16, T), StartError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let port = free_port()?;
        match start(port) {
            Ok(started) => return Ok((port, started)),
            Err(StartError::Ended { .. }) if attempts < 3 => {}
            Err(error) => return Err(error),
        }
    }
}
