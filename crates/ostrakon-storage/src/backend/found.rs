//! `Found`: what lies in a place behind an index, as it is stored.

use ostrakon_core::{Entry, Index};

use crate::{Read, StorageError};

/// Part of a log, as JSON.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Where the log ends.
    pub last: Index,
    /// The snapshot, if it is later than what was asked for.
    pub snapshot: Option<String>,
    /// The entries.
    pub entries: Vec<(Index, String)>,
}

impl Found {
    /// What it says, for whoever has read up to `behind`.
    pub fn parse(self, place: &str, behind: Index) -> Result<Read, StorageError> {
        if behind > self.last {
            return Err(StorageError::Shorter {
                place: place.to_owned(),
                last: self.last,
                seen: behind,
            });
        }
        let unreadable = |what: String, error: serde_json::Error| StorageError::Unreadable {
            place: place.to_owned(),
            what,
            source: error.into(),
        };
        let snapshot = self.snapshot.map(|text| {
            serde_json::from_str(&text).map_err(|error| unreadable("the snapshot".into(), error))
        });
        let entries = self.entries.iter().map(|(index, text)| {
            let entry: Result<Entry, _> = serde_json::from_str(text);
            let entry = entry.map_err(|error| unreadable(format!("entry {index}"), error))?;
            Ok((*index, entry))
        });
        Ok(Read {
            snapshot: snapshot.transpose()?,
            entries: entries.collect::<Result<_, _>>()?,
        })
    }
}
