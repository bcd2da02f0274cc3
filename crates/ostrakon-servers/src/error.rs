//! `StartError`: why a server does not run.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why a server does not run. What it had started is ended.
#[derive(Debug, Error)]
pub enum StartError {
    /// The program is not installed.
    #[error("there is no program `{program}`: install the Debian package {package}")]
    Missing {
        /// What was looked for.
        program: String,
        /// Where it comes from.
        package: &'static str,
    },
    /// It ended at once.
    #[error("`{program}` ended at once and said: {said}")]
    Ended {
        /// Which program.
        program: String,
        /// The end of what it printed.
        said: String,
    },
    /// It runs, but does not answer.
    #[error("`{program}` does not answer after {after:?} and said: {said}")]
    Silent {
        /// Which program.
        program: String,
        /// How long it had.
        after: Duration,
        /// The end of what it printed.
        said: String,
    },
    /// The operating system refuses.
    #[error("cannot {tried}")]
    Io {
        /// What was tried.
        tried: String,
        /// What was said.
        source: io::Error,
    },
}

impl StartError {
    pub(crate) fn io(tried: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let tried = tried.into();
        move |source| Self::Io { tried, source }
    }
}
