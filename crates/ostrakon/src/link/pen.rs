//! `Pen`: a second hold on a connection's socket, with which a sender writes from its own task.
//!
//! Who writes when is the [outbox](super::outbox)'s matter: the connection and the pens never write at the same time, and what a pen has
//! begun the connection brings to its end.

use std::{io::Write, net, sync::Arc};

use tokio::net::TcpStream;

use super::{Hub, counts::Counts};

pub(crate) struct Pen {
    /// Never blocks, like the connection's own.
    socket: net::TcpStream,
    counts: Arc<Counts>,
}

impl Pen {
    /// `None` where what is sent is encrypted on its way to the socket, or where there are no handles left.
    pub(super) fn of(hub: &Hub, stream: &TcpStream) -> Option<Self> {
        if hub.security.certificates().is_some() {
            return None;
        }
        Some(Self {
            socket: second_handle(stream)?,
            counts: Arc::clone(&hub.counts),
        })
    }

    /// Writes one frame, or as much of it as there is room for, and says how much that was. If nothing can be written the connection will
    /// find out why.
    pub(super) fn write(&self, frame: &[u8]) -> usize {
        let written = (&self.socket).write(frame).unwrap_or(0);
        if written > 0 {
            self.counts.wrote(1);
        }
        written
    }
}

#[cfg(unix)]
fn second_handle(stream: &TcpStream) -> Option<net::TcpStream> {
    use std::os::fd::AsFd;
    stream.as_fd().try_clone_to_owned().ok().map(Into::into)
}

#[cfg(not(unix))]
fn second_handle(_: &TcpStream) -> Option<net::TcpStream> {
    None
}
