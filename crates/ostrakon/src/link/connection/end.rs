//! Why connections end.

use std::{fmt, io};

use super::super::frame::BadFrame;
use crate::Cause;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The other side closed it without a word: its process is gone.
    Closed,
    /// The other side said goodbye.
    Goodbye(String),
    Io(io::Error),
    Bad(BadFrame),
    Misbehaved(&'static str),
    /// Something of the user's that it had to drop, or we ourselves.
    Panicked(Cause),
    NotReading,
    Silent,
    /// Its node is heard, and nothing comes on this connection although a sign was asked for.
    Deaf,
    NoControl,
    Replaced,
    /// The other node is no member any more: whatever it held may be somebody else's.
    RunOver,
    /// This node leaves.
    Leaving,
}

impl End {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Goodbye(_) => "goodbye",
            Self::Io(_) => "io",
            Self::Bad(_) | Self::Misbehaved(_) => "bad_input",
            Self::Panicked(_) => "panicked",
            Self::NotReading => "not_reading",
            Self::Silent => "silent",
            Self::Deaf => "deaf",
            Self::NoControl => "no_control",
            Self::Replaced => "replaced",
            Self::RunOver => "run_over",
            Self::Leaving => "leaving",
        }
    }

    /// Whether it says nothing about the other side that nobody knew.
    pub(crate) fn is_agreed(&self) -> bool {
        matches!(
            self,
            Self::Goodbye(_) | Self::Replaced | Self::RunOver | Self::Leaving
        )
    }

    /// Whether there shall be no other connection after this.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Leaving)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the other side closed it without a word"),
            Self::Goodbye(reason) => write!(f, "the other side said goodbye: {reason}"),
            Self::Io(error) => error.fmt(f),
            Self::Bad(error) => write!(f, "the other side sent {error}"),
            Self::Misbehaved(what) => write!(f, "the other side {what}"),
            Self::Panicked(cause) => write!(f, "this side {cause}"),
            Self::NotReading => f.write_str("the other side does not read"),
            Self::Silent => f.write_str("nothing was heard from the other side"),
            Self::Deaf => f.write_str("the other side runs, but gave no sign on this connection"),
            Self::NoControl => f.write_str("its control connection ended"),
            Self::Replaced => f.write_str("another connection takes its place"),
            Self::RunOver => f.write_str("the other node is no member any more"),
            Self::Leaving => f.write_str("this node leaves"),
        }
    }
}
