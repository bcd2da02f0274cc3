//! `RaftSettings`: who a voice is, and how patient.

use std::path::PathBuf;
use std::time::Duration;

use openraft::{Config, SnapshotPolicy};
use ostrakon_storage::StorageSettings;

use crate::{StartError, Voice};

/// How to take part.
#[derive(Clone, Debug)]
pub struct RaftSettings {
    /// Voices of other clusters are not listened to.
    pub cluster: String,
    /// Who this is. A data directory that has been used keeps its own id.
    pub me: Voice,
    /// Where votes and log are kept. Without it they are gone with the process, which must then come back with a
    /// [fresh id](crate::fresh_id); and if a majority goes at once, so does the log.
    pub data: Option<PathBuf>,
    /// How often the leader is heard of. Also how long its heartbeat may take.
    pub heartbeat: Duration,
    /// For `election_max` after it was heard of, nobody votes for another one. Whoever has not heard of it for that long, and for a random
    /// time between this one
    pub election_min: Duration,
    /// and this one besides, tries to lead. Also how long entries may take to be answered.
    pub election_max: Duration,
    /// How long somebody who shall vote may take to get the log.
    pub catch_up: Duration,
    /// The log of the consensus is replaced by a snapshot after so many entries.
    pub snapshot_after: u64,
    /// Deadlines of the storage, and of each step of changing the voters.
    pub storage: StorageSettings,
}

impl RaftSettings {
    /// In memory; a heartbeat each 250 ms, elections after 1 to 2 s, 10 s to catch up, a snapshot each 1,000 entries.
    pub fn new(cluster: impl Into<String>, me: Voice) -> Self {
        Self {
            cluster: cluster.into(),
            me,
            data: None,
            heartbeat: Duration::from_millis(250),
            election_min: Duration::from_secs(1),
            election_max: Duration::from_secs(2),
            catch_up: Duration::from_secs(10),
            snapshot_after: 1000,
            storage: StorageSettings::default(),
        }
    }

    /// From hearing of a leader until another one can be elected.
    pub(crate) fn shortest_succession(&self) -> Duration {
        self.election_min + self.election_max
    }

    pub(crate) fn config(&self) -> Result<Config, StartError> {
        let config = Config {
            cluster_name: self.cluster.clone(),
            heartbeat_interval: millis(self.heartbeat),
            election_timeout_min: millis(self.election_min),
            election_timeout_max: millis(self.election_max),
            install_snapshot_timeout: millis(self.storage.deadline),
            // Bytes are limited where entries are read.
            max_payload_entries: 256,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(self.snapshot_after),
            max_in_snapshot_log_to_keep: self.snapshot_after / 2,
            // Whoever comes back from a partition must not depose a leader that everybody else hears.
            enable_pre_vote: Some(true),
            ..Config::default()
        };
        let invalid = |error: openraft::ConfigError| StartError::InvalidTimes(error.to_string());
        config.validate().map_err(invalid)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
