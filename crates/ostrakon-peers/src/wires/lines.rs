//! `Lines`: what there is to each address that was spoken to: connections, one that is being opened, or the memory of a failure.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ostrakon_control::{Framed, Mouth, PeerWords};
use ostrakon_core::Address;
use tokio::{sync::Notify, time::Instant};

use crate::CallError;

/// So many addresses are remembered, connected or not.
const MOST: usize = 1024;
/// So much may wait for a connection.
const WAITING: usize = 64;
/// How long to wait before dialing again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Lines {
    lines: BTreeMap<Address, Line>,
    last_number: u64,
}

#[derive(Clone)]
pub(super) struct Connection {
    pub(super) mouth: Mouth<PeerWords>,
    /// Told to end the connection.
    pub(super) hang_up: Arc<Notify>,
}

struct Line {
    /// By number: the last is used.
    open: BTreeMap<u64, Connection>,
    dialing: Option<Waiting>,
    failure: Option<Failure>,
    used: Instant,
}

struct Failure {
    trouble: String,
    pause: Duration,
    over: Instant,
}

/// What is to be said as soon as there is a connection.
#[derive(Default)]
pub(super) struct Waiting(Vec<Framed<PeerWords>>);

/// How somebody can be spoken to.
pub(super) enum Ready<'a> {
    Open(u64, &'a Mouth<PeerWords>),
    Dialing(&'a mut Waiting),
    /// Not now: it was in vain a moment ago.
    Resting(String),
    /// It has to be dialed, by whoever gets this.
    Free(&'a mut Waiting),
}

impl Waiting {
    pub(super) fn push(&mut self, frame: Framed<PeerWords>) -> Result<(), CallError> {
        if self.0.len() >= WAITING {
            return Err(CallError::TooMany(WAITING));
        }
        self.0.push(frame);
        Ok(())
    }
}

impl Lines {
    pub(super) fn ready(&mut self, to: &Address) -> Ready<'_> {
        let line = self.line(to);
        if let Some((number, connection)) = line.open.last_key_value() {
            return Ready::Open(*number, &connection.mouth);
        }
        if let Some(failure) = &line.failure
            && line.dialing.is_none()
            && failure.over > line.used
        {
            return Ready::Resting(failure.trouble.clone());
        }
        let is_free = line.dialing.is_none();
        let waiting = line.dialing.get_or_insert_default();
        match is_free {
            true => Ready::Free(waiting),
            false => Ready::Dialing(waiting),
        }
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Returns what has waited for a connection.
    pub(super) fn opened(
        &mut self,
        to: &Address,
        number: u64,
        connection: Connection,
    ) -> Vec<Framed<PeerWords>> {
        let line = self.line(to);
        line.open.insert(number, connection);
        line.failure = None;
        line.dialing.take().unwrap_or_default().0
    }

    pub(super) fn closed(&mut self, to: &Address, number: u64) {
        let Some(line) = self.lines.get_mut(to) else {
            return;
        };
        line.open.remove(&number);
        if line.open.is_empty() && line.dialing.is_none() && line.failure.is_none() {
            self.lines.remove(to);
        }
    }

    /// Returns whether this is another trouble than the last time; none at all if the other side has dialed meanwhile.
    pub(super) fn failed(&mut self, to: &Address, trouble: &str) -> Option<bool> {
        let line = self.line(to);
        if !line.open.is_empty() {
            return None;
        }
        line.dialing = None;
        let pause = line.failure.as_ref().map_or(FIRST_PAUSE, |failure| {
            (failure.pause * 2).min(LONGEST_PAUSE)
        });
        // A random part keeps peers from trying in step.
        let rest = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        let last = line.failure.replace(Failure {
            trouble: trouble.to_owned(),
            pause,
            over: Instant::now() + rest,
        });
        Some(last.is_none_or(|last| last.trouble != trouble))
    }

    pub(super) fn outcome(&self, address: &Address) -> String {
        let Some(line) = self.lines.get(address) else {
            return "not tried".to_owned();
        };
        match &line.failure {
            Some(failure) => failure.trouble.clone(),
            None if line.open.is_empty() => "no answer yet".to_owned(),
            None => "it answers, but has no cluster for us".to_owned(),
        }
    }

    pub(super) fn connections(&self) -> usize {
        let open = self.lines.values().flat_map(|line| line.open.keys());
        open.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The line to an address, as of now.
    fn line(&mut self, to: &Address) -> &mut Line {
        if !self.lines.contains_key(to) && self.lines.len() >= MOST {
            self.make_room();
        }
        let now = Instant::now();
        let line = self.lines.entry(to.clone()).or_insert_with(|| Line {
            open: BTreeMap::new(),
            dialing: None,
            failure: None,
            used: now,
        });
        line.used = now;
        line
    }

    /// Forgets whoever was not spoken to for longest.
    fn make_room(&mut self) {
        let idle = self.lines.iter().filter(|(_, line)| line.dialing.is_none());
        let oldest = idle.min_by_key(|(_, line)| line.used);
        if let Some(oldest) = oldest.map(|(address, _)| address.clone())
            && let Some(line) = self.lines.remove(&oldest)
        {
            for connection in line.open.into_values() {
                connection.hang_up.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests;
