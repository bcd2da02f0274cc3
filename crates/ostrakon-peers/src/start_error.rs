//! `StartError`: why a peer did not start.

use std::{fmt, io, time::Duration};

use ostrakon_core::{InvalidId, InvalidTopologyConfig};
use ostrakon_tls::Unfit;
use thiserror::Error;

/// Why a peer did not start. Nothing runs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its name cannot be used.
    #[error("a name cannot be used: {0}")]
    InvalidName(#[from] InvalidId),
    /// Its timing cannot work.
    #[error(transparent)]
    Config(#[from] InvalidTopologyConfig),
    /// It cannot listen on this address. Choose another, or end what uses it.
    #[error("cannot listen on `{address}`: {cause}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        cause: io::Error,
    },
    /// Others could not find it under this address.
    #[error("others cannot reach `{address}`: {reason}; set the address to advertise")]
    Advertise {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Its connections cannot be protected as they have to be.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The system gave it no thread.
    #[error("it got no thread of its own: {0}")]
    Thread(io::Error),
    /// It found no cluster in time, and was not to form one.
    #[error("no cluster was found or formed within {within:?}{}: {}", Needed(*.forms_with), Listed(.seeds))]
    NotJoined {
        /// How long it tried.
        within: Duration,
        /// How many peers it takes to form one.
        forms_with: usize,
        /// What came of each seed.
        seeds: Vec<SeedTried>,
    },
    /// A later run under its name has taken its place, or it was stopped.
    #[error("it was ended before it belonged to a cluster")]
    Ended,
}

/// A seed, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedTried {
    /// Its address, or its name if that has none.
    pub seed: String,
    /// What came of the last try.
    pub outcome: String,
}

struct Needed(usize);

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 | 1 => Ok(()),
            least => write!(f, ", which takes {least} peers that are there"),
        }
    }
}

struct Listed<'a>(&'a [SeedTried]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no seed was named");
        }
        for (at, SeedTried { seed, outcome }) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}{seed}: {outcome}")?;
        }
        Ok(())
    }
}
