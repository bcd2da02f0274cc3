//! `Watching`: what the consensus says of itself, as values that can be waited for.
//!
//! Leading is believed only as long as a majority has answered within the time in which nobody else can be elected: a leader that is cut off
//! hears nothing, least of all that it has a successor. It is a hint to begin or end with something, never a permission.

use std::collections::BTreeMap;
use std::time::Duration;

use openraft::alias::WatchReceiverOf;
use openraft::async_runtime::watch::WatchReceiver;
use openraft::{Instant, ServerState};
use tokio::sync::watch;

use crate::network::AddressBook;
use crate::type_config::{Metrics, TypeConfig};
use crate::{Members, Voice};

/// What can be watched.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) leads: watch::Receiver<bool>,
    pub(crate) members: watch::Receiver<Members>,
}

struct Watched {
    leads: watch::Sender<bool>,
    members: watch::Sender<Members>,
    book: AddressBook,
}

impl Watching {
    /// Watches until the consensus has ended, and says then that it does not lead.
    pub(crate) fn start(
        mut metrics: WatchReceiverOf<TypeConfig, Metrics>,
        lease: Duration,
        book: AddressBook,
    ) -> Self {
        let (leads, leads_seen) = watch::channel(false);
        let (members, members_seen) = watch::channel(Members::default());
        let watched = Watched {
            leads,
            members,
            book,
        };
        tokio::spawn(async move {
            loop {
                let left = watched.see(&metrics.borrow_watched(), lease);
                let changed = tokio::time::timeout(left, metrics.changed()).await;
                if let Ok(Err(_)) = changed {
                    break;
                }
            }
            watched.leads.send_replace(false);
        });
        Self {
            leads: leads_seen,
            members: members_seen,
        }
    }
}

impl Watched {
    /// Publishes, and returns after which time to look again even if nothing is heard.
    fn see(&self, metrics: &Metrics, lease: Duration) -> Duration {
        let left = authority(metrics, lease);
        set(&self.leads, left > Duration::ZERO);
        let nodes = metrics.membership_config.membership().nodes();
        self.book
            .replace(nodes.map(|(id, voice)| (*id, voice.clone())).collect());
        let membership = metrics.committed_membership_config.membership();
        let voices = |ids: Vec<u64>| -> BTreeMap<u64, Voice> {
            let known = ids.into_iter();
            known
                .filter_map(|id| Some((id, membership.get_node(&id)?.clone())))
                .collect()
        };
        let members = Members {
            voters: voices(membership.voter_ids().collect()),
            learners: voices(membership.learner_ids().collect()),
        };
        set(&self.members, members);
        match left {
            Duration::ZERO => Duration::MAX,
            left => left,
        }
    }
}

/// For how long this voice may still believe that it leads.
fn authority(metrics: &Metrics, lease: Duration) -> Duration {
    if metrics.state != ServerState::Leader || metrics.running_state.is_err() {
        return Duration::ZERO;
    }
    let mut voters = metrics.membership_config.membership().voter_ids();
    if voters.all(|id| id == metrics.id) {
        return Duration::MAX;
    }
    let acked = metrics.last_quorum_acked;
    acked.map_or(Duration::ZERO, |acked| {
        lease.saturating_sub(acked.elapsed())
    })
}

fn set<T: PartialEq>(watched: &watch::Sender<T>, value: T) {
    watched.send_if_modified(|present| {
        let is_new = *present != value;
        *present = value;
        is_new
    });
}
