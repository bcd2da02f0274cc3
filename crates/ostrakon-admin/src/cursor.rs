//! `Cursor`: how far somebody has followed the events.
//!
//! Events are counted by each run of a manager for itself, but most of them come from the log, which all managers share. A cursor has
//! both: within one run it resumes exactly; with another run, or another manager, behind the same entry of the log.

use std::{fmt, str::FromStr};

use ostrakon_core::Index;
use ostrakon_manager::{ClusterEvent, View};

/// How far somebody has followed the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    run: u64,
    /// The event that was seen last.
    number: u64,
    /// The entry of the log that was seen last.
    index: Index,
}

/// A text that is no cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoCursor;

impl Cursor {
    /// Before everything of this run.
    pub(crate) fn start(run: u64) -> Self {
        let (number, index) = (0, Index::default());
        Self { run, number, index }
    }

    /// Behind an event.
    #[must_use]
    pub(crate) fn behind(self, event: &ClusterEvent) -> Self {
        Self {
            number: event.number,
            index: event.index.unwrap_or(self.index),
            ..self
        }
    }

    /// The same for another run, and the number of the event that comes next there.
    pub(crate) fn resume(self, run: u64, view: &View) -> (Self, u64) {
        if self.run == run {
            return (self, self.number + 1);
        }
        let mut later = view
            .remembered()
            .filter(|event| event.index.is_some_and(|index| index > self.index));
        let next = later
            .next()
            .map_or_else(|| view.next_event(), |event| event.number);
        (Self { run, ..self }, next)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, number, index } = self;
        write!(f, "{run:x}-{number}-{}", index.get())
    }
}

impl FromStr for Cursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or(NoCursor);
        let (run, number, index) = (part()?, part()?, part()?);
        if parts.next().is_some() {
            return Err(NoCursor);
        }
        Ok(Self {
            run: u64::from_str_radix(run, 16).map_err(|_| NoCursor)?,
            number: number.parse().map_err(|_| NoCursor)?,
            index: Index::new(index.parse().map_err(|_| NoCursor)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let cursor = Cursor {
            run: 0xbeef,
            number: 7,
            index: Index::new(12),
        };
        assert_eq!(cursor.to_string(), "beef-7-12");
        assert_eq!("beef-7-12".parse(), Ok(cursor));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "7",
            "beef-7",
            "beef-7-12-1",
            "xyz-7-12",
            "beef--12",
            "beef-7-x",
            "beef-99999999999999999999-1",
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(NoCursor), "{text}");
        }
    }
}
