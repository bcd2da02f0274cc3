//! `Leftovers`: what is done with when a lane has sent on what waited, and must not be done under its lock.
//!
//! Whoever waits is woken, and messages are dropped whose types are the user's: either may come back to the same lane.

use std::{any::Any, sync::Arc};

use crate::{
    AskError, Cause, TellError,
    link::{Hub, Parcel},
    reply::Settle,
};

#[derive(Default)]
pub(crate) struct Leftovers {
    failed: Vec<(Parcel, TellError)>,
    interrupted: Vec<Arc<dyn Settle>>,
    done_with: Vec<Box<dyn Any + Send>>,
}

impl Leftovers {
    /// Nobody can take this.
    pub(crate) fn fail(&mut self, parcel: Parcel, error: TellError) {
        self.failed.push((parcel, error));
    }

    /// Nobody knows what has become of what these have asked for.
    pub(super) fn interrupt(&mut self, asker: Option<Arc<dyn Settle>>) {
        self.interrupted.extend(asker);
    }

    /// Nobody needs this any more.
    pub(crate) fn drop_later(&mut self, rest: Box<dyn Any + Send>) {
        self.done_with.push(rest);
    }

    /// No lock may be held.
    pub(super) fn settle(self, hub: &Hub) {
        for (parcel, error) in self.failed {
            parcel.fail(hub, error);
        }
        for asker in self.interrupted {
            // If whoever is woken panics, the others are told all the same.
            let _ = Cause::catch(|| asker.fail(AskError::Interrupted));
        }
        for rest in self.done_with {
            let _ = Cause::catch(|| drop(rest));
        }
    }
}
