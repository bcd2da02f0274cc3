//! Deadlines of asks that have gone to another node.
//!
//! An ask needs no timer of its own: the table of requests knows its earliest deadline, and one task for each link looks through
//! it when that has come. Nearly always the ask has been answered by then, and there is nothing to do.

use std::sync::{Arc, Weak};

use ostrakon_core::Time;

use super::{Link, frame};
use crate::{AskError, Cause, TellError, clock::Clock};

/// Ends asks whose time is over, as long as the link exists.
pub(crate) async fn run(link: Weak<Link>, clock: Clock) {
    let Some(earlier) = link.upgrade().map(|link| Arc::clone(&link.expiry)) else {
        return;
    };
    loop {
        let changed = earlier.notified();
        let Some(next) = link
            .upgrade()
            .map(|link| link.state.lock().requests.next_look())
        else {
            return;
        };
        match next {
            None => changed.await,
            Some(next) => {
                tokio::select! {
                    () = changed => continue,
                    () = clock.sleep_until(next) => {}
                }
                let Some(link) = link.upgrade() else {
                    return;
                };
                link.expire(clock.now());
            }
        }
    }
}

impl Link {
    /// Ends every ask whose deadline has passed.
    fn expire(&self, now: Time) {
        let mut state = self.state.lock();
        let due = state.requests.due(now);
        let mut over = Vec::with_capacity(due.len());
        for id in due {
            if let Some(request) = state.requests.remove(id) {
                let unsent = state.withdraw(request.spot);
                over.push((id, request, unsent));
            }
        }
        drop(state);
        for (id, request, unsent) in over {
            if let Some(owed) = unsent {
                // Whoever has passed a reply on is told. If that panics, the others are told all the same.
                let _ = Cause::catch(|| drop(owed));
                let node = self.peer.clone();
                request.fail(&TellError::Unreachable { node }.into());
            } else {
                self.sign(|out| frame::put_cancel(out, id));
                request.fail(&AskError::TimedOut);
            }
        }
    }
}
