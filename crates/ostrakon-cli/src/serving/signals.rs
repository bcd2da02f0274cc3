//! `Signals`: being told to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What tells a process to stop. Made before anything is started, lest a signal that comes early ends the process at once.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one.
    pub(crate) async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("stopping: SIGTERM"),
            _ = self.interrupt.recv() => tracing::info!("stopping: SIGINT"),
        }
    }
}
