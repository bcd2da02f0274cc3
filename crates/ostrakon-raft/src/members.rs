//! `Members`: who takes part in the consensus.

use std::collections::BTreeMap;
use std::fmt;

use crate::Voice;

/// Who takes part: everybody has the log, and those who vote decide what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Those who vote. While the voters change, old and new.
    pub voters: BTreeMap<u64, Voice>,
    /// Those who only hear of it.
    pub learners: BTreeMap<u64, Voice>,
}

impl Members {
    /// Everybody.
    pub(crate) fn all(&self) -> BTreeMap<u64, Voice> {
        let all = self.voters.iter().chain(&self.learners);
        all.map(|(id, voice)| (*id, voice.clone())).collect()
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |voices: &BTreeMap<u64, Voice>| {
            let names = voices.values().map(|voice| voice.name.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        f.write_str(&names(&self.voters))?;
        match self.learners.is_empty() {
            true => Ok(()),
            false => write!(f, " (and without a vote: {})", names(&self.learners)),
        }
    }
}
