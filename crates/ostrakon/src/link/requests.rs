//! `Requests`: what this node waits for from one other node.
//!
//! An id names a place in a table and how often that place was used, so an answer that comes too late finds nothing. Invariant:
//! every request leaves the table exactly once: answered, failed, withdrawn or given back to its lane.

use std::{sync::Arc, time::Duration};

use ostrakon_core::{EntityId, Time};

use super::{frame::RequestId, outbox::Spot};
use crate::{
    AskError, Cause,
    reply::{AskId, Settle},
    wire::Port,
};

/// The most requests that may be under way to one node.
const MOST: usize = 1 << 20;
/// After a look at all places, how long to leave each of them alone: looking takes a few nanoseconds. A small table is looked at as often as
/// a timer can tell, a full one ten times a second.
const REST: Duration = Duration::from_nanos(100);

#[derive(Default)]
pub(crate) struct Requests {
    places: Vec<Place>,
    free: Vec<u32>,
    /// No deadline is before this.
    earliest: Option<Time>,
    /// Nobody looks for deadlines before this: a table that is full of different ones must not be looked through for each.
    rests_until: Time,
}

#[derive(Default)]
struct Place {
    uses: u32,
    request: Option<Request>,
}

impl Place {
    /// The id of the request at this place. Never 0, which stands for no request.
    fn id(&self, index: usize) -> RequestId {
        (u64::from(self.uses) << 20) + index as u64 + 1
    }
}

/// Something that the other side owes an answer to.
pub(crate) struct Request {
    pub(crate) owed: Owed,
    /// Who was asked, if this is an ask.
    pub(crate) asked: Option<Asked>,
    /// Where the message that asks for it waits or waited.
    pub(crate) spot: Spot,
    /// When its asker gives up; `None` where nobody does.
    pub(crate) deadline: Option<Time>,
}

/// What the other side owes, and to whom.
pub(crate) enum Owed {
    /// An answer, or the items of a stream.
    Reply(Port),
    /// That the turn of a streaming ask has come; its items are owed to another request.
    Opening(Arc<dyn Settle>),
}

/// The entity that an ask is for.
pub(crate) struct Asked {
    pub(crate) kind: &'static str,
    pub(crate) id: EntityId,
}

impl Request {
    /// Ends the request without an answer.
    pub(crate) fn fail(self, error: &AskError) {
        // Whoever waits is woken. If that panics, others must be told all the same.
        let _ = Cause::catch(|| match self.owed {
            Owed::Reply(port) => port.fail(error),
            Owed::Opening(asker) => asker.fail(error.clone()),
        });
    }

    /// Whoever waits, if this is an ask.
    pub(crate) fn asker(&self) -> Option<&dyn Settle> {
        self.asked.as_ref()?;
        match &self.owed {
            Owed::Reply(Port::Answer(port)) => Some(&*port.sink),
            Owed::Reply(Port::Items(_)) => None,
            Owed::Opening(asker) => Some(&**asker),
        }
    }

    pub(crate) fn is(&self, ask: AskId) -> bool {
        self.asker().is_some_and(|asker| asker.id() == ask)
    }
}

impl Requests {
    /// Whether `more` requests have room.
    pub(crate) fn have_room(&self, more: usize) -> bool {
        self.len() + more <= MOST
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether a deadline is before all others that were known: whoever waits for those must know.
    pub(crate) fn note_deadline(&mut self, deadline: Time) -> bool {
        let is_earlier = self.earliest.is_none_or(|earliest| deadline < earliest);
        if is_earlier {
            self.earliest = Some(deadline);
        }
        is_earlier
    }

    /// When to look for requests whose deadline has passed.
    pub(crate) fn next_look(&self) -> Option<Time> {
        Some(self.earliest?.max(self.rests_until))
    }

    /// The requests whose deadline has passed.
    pub(crate) fn due(&mut self, now: Time) -> Vec<RequestId> {
        self.earliest = None;
        self.rests_until = now + REST * self.places.len() as u32;
        let mut due = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let Some(deadline) = place.request.as_ref().and_then(|request| request.deadline) else {
                continue;
            };
            if deadline <= now {
                due.push(place.id(index));
            } else {
                let earliest = self
                    .earliest
                    .map_or(deadline, |earliest| earliest.min(deadline));
                self.earliest = Some(earliest);
            }
        }
        due
    }

    pub(crate) fn insert(&mut self, request: Request) -> RequestId {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.places.push(Place::default());
                (self.places.len() - 1) as u32
            }
        };
        let place = &mut self.places[index as usize];
        place.request = Some(request);
        place.id(index as usize)
    }

    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        self.place(id)?.request.as_mut()
    }

    pub(crate) fn remove(&mut self, id: RequestId) -> Option<Request> {
        let place = self.place(id)?;
        let request = place.request.take()?;
        place.uses = place.uses.wrapping_add(1);
        self.free.push(index(id)? as u32);
        Some(request)
    }

    fn place(&mut self, id: RequestId) -> Option<&mut Place> {
        let place = self.places.get_mut(index(id)?)?;
        (u64::from(place.uses) == (id - 1) >> 20).then_some(place)
    }

    /// The request of this ask.
    pub(crate) fn find(&self, ask: AskId) -> Option<RequestId> {
        let mut places = self.places.iter().enumerate();
        let is = |request: &Request| request.is(ask);
        let (index, place) = places.find(|(_, place)| place.request.as_ref().is_some_and(is))?;
        Some(place.id(index))
    }

    /// Removes all requests that `gone` says are gone.
    pub(crate) fn sweep(&mut self, mut gone: impl FnMut(&Request) -> bool) -> Vec<Request> {
        let mut swept = Vec::new();
        for (index, place) in self.places.iter_mut().enumerate() {
            if place.request.as_ref().is_some_and(&mut gone) {
                swept.extend(place.request.take());
                place.uses = place.uses.wrapping_add(1);
                self.free.push(index as u32);
            }
        }
        swept
    }
}

fn index(id: RequestId) -> Option<usize> {
    Some((id.checked_sub(1)? & 0xF_FFFF) as usize)
}

#[cfg(test)]
mod tests;
