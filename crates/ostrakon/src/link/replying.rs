//! What is said on one session only: answers, items, messages that go back, and signs.
//!
//! A side that does not read what it asked for must not fill the memory of the other: each [`Class`] of frames has its own bound.

use super::{Link, Phase, connection::End, outbox::LaneKey};

/// How a frame is treated when much is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// An answer or an item of so many bytes: it has more room than messages, for it ends something.
    Answer { size: usize },
    /// A message that goes back.
    Returned { size: usize },
    /// Small, and the other side depends on it.
    Sign,
}

impl Class {
    fn size(self) -> usize {
        match self {
            Self::Answer { size } | Self::Returned { size } => size,
            Self::Sign => 0,
        }
    }
}

impl Link {
    /// Sends something that belongs to one session. `false`: it is over, or there is no room.
    pub(crate) fn reply(
        &self,
        session: u64,
        class: Class,
        lane: LaneKey,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let mut state = self.state.lock();
        let waiting = state.outbox.waiting();
        let limits = &self.limits;
        let Some(current) = state.session(session) else {
            return false;
        };
        if matches!(class, Class::Answer { .. }) && waiting > limits.waiting_answers() {
            return false;
        }
        if waiting > limits.waiting_signs() {
            current.cut = Some(End::NotReading);
            drop(state);
            self.writer.wake();
            return false;
        }
        let token = state.token();
        state.outbox.push_sized(lane, token, class.size(), write);
        self.wake(state);
        true
    }

    /// Sends a sign on the present session, if there is one.
    pub(super) fn sign(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.sign_behind(LaneKey::None, write);
    }

    /// The same, behind all that was sent on this lane.
    pub(super) fn sign_behind(&self, lane: LaneKey, write: impl FnOnce(&mut Vec<u8>)) {
        let session = match &self.state.lock().phase {
            Phase::Up(session) => session.number,
            Phase::Idle | Phase::Dialing => return,
        };
        self.reply(session, Class::Sign, lane, write);
    }
}
