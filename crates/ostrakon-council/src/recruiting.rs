//! Recruiting: whoever leads sees to it that those take part in the consensus that shall.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ostrakon_core::{Incarnation, NodeName, TopologySnapshot};
use ostrakon_manager::Desk;
use ostrakon_raft::{Members, RaftLog};
use tokio::{sync::watch, time::Instant};

use crate::{Quorum, roster::Roster};

/// How long to wait before a change is tried again that did not succeed.
const PAUSE: Duration = Duration::from_millis(500);
/// A cluster that begins has two nodes for a moment, which is nothing to speak of.
const BEGINNING: Duration = Duration::from_secs(5);

pub(crate) struct Recruiting {
    pub(crate) log: Arc<RaftLog>,
    pub(crate) topology: watch::Receiver<TopologySnapshot>,
    pub(crate) desk: Desk,
}

impl Recruiting {
    /// Goes on for as long as the peer runs.
    pub(crate) async fn run(mut self) {
        let (mut leads, mut members) = (self.log.leads(), self.log.members());
        let mut events = self.desk.follow();
        let mut concern = Concern::default();
        loop {
            leads.mark_unchanged();
            members.mark_unchanged();
            events.mark_unchanged();
            let settled = !*leads.borrow() || self.recruit().await;
            let look_again = concern.consider(self.weakness(), Instant::now());
            let changed = async {
                tokio::select! {
                    () = sleep_until(look_again) => Ok(()),
                    changed = leads.changed() => changed,
                    changed = members.changed() => changed,
                    changed = events.changed() => changed,
                    changed = self.topology.changed() => changed,
                }
            };
            let changed = match settled {
                true => changed.await,
                false => {
                    tokio::time::sleep(PAUSE).await;
                    Ok(())
                }
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Returns whether all that was wanted has been done.
    async fn recruit(&mut self) -> bool {
        let current = self.log.members().borrow().clone();
        let topology = self.topology.borrow_and_update().clone();
        let runs = self.runs();
        let me = self.log.me();
        let roster = Roster {
            topology: &topology,
            runs: &runs,
            current: &current,
            leader: me.id,
        };
        let mut wanted = roster.wanted();
        let Some(heir) = wanted.voters.keys().next().copied() else {
            // Whoever would leave nobody behind keeps things as they are.
            return true;
        };
        // Nobody leads without a vote: whoever goes lets another one lead first, and that one takes its vote back.
        let goes = !wanted.voters.contains_key(&me.id);
        if goes {
            wanted.learners.remove(&me.id);
            wanted.voters.insert(me.id, me.clone());
        }
        if wanted != current && !self.set(&wanted).await {
            return false;
        }
        if goes {
            self.log.hand_over(heir).await;
        }
        !goes
    }

    async fn set(&self, wanted: &Members) -> bool {
        tracing::info!(%wanted, "those who keep the log change");
        match self.log.set_members(wanted).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "those who keep the log could not be changed yet");
                false
            }
        }
    }

    /// What is wrong with those who vote, if this peer leads and has to say it.
    fn weakness(&self) -> Option<String> {
        let (leads, me) = (*self.log.leads().borrow(), self.log.me());
        let members = self.log.members();
        let quorum = Quorum::of(&self.topology.borrow(), &members.borrow(), Some(me));
        quorum.weakness().filter(|_| leads)
    }

    /// The latest run of each node.
    fn runs(&self) -> BTreeMap<NodeName, Incarnation> {
        let view = self.desk.view();
        let members = view.state().members();
        let runs = members.map(|(run, member)| (member.registration.name.clone(), run));
        runs.collect()
    }
}

/// Says once what is wrong with those who vote, when it has been so for a while.
#[derive(Default)]
struct Concern {
    since: Option<Instant>,
    is_said: bool,
}

impl Concern {
    /// Returns when to look again, if it is not said yet.
    fn consider(&mut self, weakness: Option<String>, now: Instant) -> Option<Instant> {
        let Some(weakness) = weakness else {
            *self = Self::default();
            return None;
        };
        let due = *self.since.get_or_insert(now) + BEGINNING;
        if !self.is_said && due <= now {
            tracing::warn!("{weakness}");
            self.is_said = true;
        }
        Some(due).filter(|_| !self.is_said)
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weakness_is_said_once_and_only_when_it_lasts() {
        let (mut concern, began) = (Concern::default(), Instant::now());
        let weak = || Some("weak".to_owned());
        let due = began + BEGINNING;
        assert_eq!(concern.consider(weak(), began), Some(due));
        assert_eq!(concern.consider(None, began), None);
        assert!(!concern.is_said, "a third one has come");
        assert_eq!(concern.consider(weak(), began), Some(due));
        assert_eq!(concern.consider(weak(), due), None);
        assert!(concern.is_said);
        assert_eq!(concern.consider(weak(), due + BEGINNING), None);
    }
}
