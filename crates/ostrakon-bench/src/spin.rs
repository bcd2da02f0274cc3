//! Keeps the cores awake while latencies are measured.
//!
//! On a virtual machine a core that has nothing to do is halted, and waking it
//! costs more than the software under test. A process of the idle scheduling
//! class yields to everything and still prevents the halt. It needs `chrt`
//! (util-linux); without it the run goes on and the report says so.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitCode, Stdio};
use std::{env, io, thread};

use anyhow::Result;

/// One spinning process per core, ended when this is dropped.
pub(crate) struct Spinners(Vec<Spinner>);

impl Spinners {
    /// As many as can be started: all or, where `chrt` is missing, none.
    pub(crate) fn start() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self((0..cores).map_while(|_| Spinner::start().ok()).collect())
    }

    /// For the report.
    pub(crate) fn describe(&self) -> String {
        match self.0.len() {
            0 => "no usable `chrt` to keep the cores awake: latencies include waking halted cores"
                .to_owned(),
            count => format!("cores kept awake by {count} spinning processes of the idle class"),
        }
    }
}

struct Spinner(Child);

impl Spinner {
    fn start() -> io::Result<Self> {
        let child = Command::new("chrt")
            .args(["--idle", "0"])
            .arg(env::current_exe()?)
            .arg("spin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut spinner = Self(child);
        spinner.wait_until_it_spins()?;
        Ok(spinner)
    }

    fn wait_until_it_spins(&mut self) -> io::Result<()> {
        let output = self.0.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        match BufReader::new(output).read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // Either may fail only because the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Be a spinner. Ends with its parent, however that ended: the parent holds the
/// other side of stdin.
pub(crate) fn spin() -> Result<ExitCode> {
    println!("spinning");
    thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    loop {
        std::hint::spin_loop();
    }
}
