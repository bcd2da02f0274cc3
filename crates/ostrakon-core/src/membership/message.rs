//! `TopologyMessage`: what the topologies of two nodes say to each other.
//!
//! Gossip between A and B takes as many steps as there is difference, and ends at once when there is none:
//!
//! ```text
//! A ── Digest ──────────▶ B     one number for the whole view; equal: the end
//! A ◀──────── Segments ── B     one number for each segment
//! A ── Clocks ──────────▶ B     the vector clocks of those that differ
//! A ◀───────── Records ── B     the records of those in which B is not behind, and which of A's it wants
//! A ── Records ─────────▶ B     the wanted ones
//! ```
//!
//! Any message may be lost, delayed or doubled: the next round starts afresh, and merging twice is merging once.

use serde::{Deserialize, Serialize};

use super::segment::Segment;
use super::{ClusterId, Generation, TopologyMember};
use crate::{NodeName, VectorClock};

/// What the topology of one node says to that of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyMessage {
    /// The cluster of the sender; none as long as it looks for one.
    pub cluster: Option<ClusterId>,
    /// Who speaks.
    pub from: NodeName,
    /// Which run of it.
    pub run: u64,
    /// What it says.
    pub(super) body: Body,
}

impl TopologyMessage {
    /// What kind of message it is, for counters and log lines.
    pub const fn kind(&self) -> &'static str {
        match self.body {
            Body::Hello(_) => "hello",
            Body::Searching => "searching",
            Body::Welcome { .. } => "welcome",
            Body::Full => "full",
            Body::Foreign => "foreign",
            Body::Ping(_) => "ping",
            Body::Pong(_) => "pong",
            Body::Digest(_) => "digest",
            Body::Segments(_) => "segments",
            Body::Clocks(_) => "clocks",
            Body::Records { .. } => "records",
        }
    }
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Body {
    /// "I look for a cluster; this would be my record."
    Hello(Box<TopologyMember>),
    /// "So do I, and I join what you form." Answers `Hello`, and a `Pong` that did.
    Searching,
    /// "This is one, and you are in." Answers `Hello`.
    Welcome {
        /// What is known of an earlier run of the newcomer, if that is above what it said.
        known_as: Option<Generation>,
        /// A few members, to begin with.
        members: Vec<TopologyMember>,
    },
    /// "This is one, and it is full." Answers `Hello`.
    Full,
    /// "I belong to another cluster." Answers anything from a member of one.
    Foreign,
    /// "Are you there?"
    Ping(u64),
    /// "I am." Answers the `Ping` of the same number; and `Hello`, where somebody searches too and does not join what the other forms.
    Pong(u64),
    /// The first step of gossip.
    Digest(u64),
    /// The second; segments that are left out have no records.
    Segments(Vec<(u8, u64)>),
    /// The third.
    Clocks(Vec<(u8, VectorClock)>),
    /// The fourth and the fifth; also a single record that cannot wait for gossip.
    Records {
        /// What the sender knows of these segments.
        segments: Vec<(u8, Segment)>,
        /// The segments of which it wants to know more.
        want: Vec<u8>,
    },
}

/// Cuts records into messages of about `limit` bytes. The clock of a segment goes with its last piece: who has not received
/// all pieces then has no reason to believe it has.
pub(super) fn split_records(
    segments: impl IntoIterator<Item = (u8, Segment)>,
    limit: usize,
) -> Vec<Vec<(u8, Segment)>> {
    let mut messages = vec![Vec::new()];
    let mut room = limit;
    for (index, segment) in segments {
        let clock_len = clock_len(&segment.clock);
        let mut piece = Vec::new();
        for record in segment.members() {
            let len = record.encoded_len();
            if len + clock_len > room && room < limit {
                let full = Segment::of_records(VectorClock::default(), std::mem::take(&mut piece));
                push_piece(&mut messages, index, full);
                messages.push(Vec::new());
                room = limit;
            }
            room = room.saturating_sub(len);
            piece.push(record.clone());
        }
        room = room.saturating_sub(clock_len);
        push_piece(
            &mut messages,
            index,
            Segment::of_records(segment.clock, piece),
        );
    }
    messages.retain(|message| !message.is_empty());
    messages
}

/// Cuts clocks into messages of about `limit` bytes.
pub(super) fn split_clocks(
    clocks: Vec<(u8, VectorClock)>,
    limit: usize,
) -> Vec<Vec<(u8, VectorClock)>> {
    let mut messages = vec![Vec::new()];
    let mut room = limit;
    for (index, clock) in clocks {
        let len = clock_len(&clock);
        if len > room && room < limit {
            messages.push(Vec::new());
            room = limit;
        }
        room = room.saturating_sub(len);
        messages
            .last_mut()
            .expect("there is always a message being filled")
            .push((index, clock));
    }
    messages.retain(|message| !message.is_empty());
    messages
}

fn push_piece(messages: &mut [Vec<(u8, Segment)>], index: u8, piece: Segment) {
    if !piece.members().is_empty() {
        messages
            .last_mut()
            .expect("there is always a message being filled")
            .push((index, piece));
    }
}

/// About how long it is when encoded.
fn clock_len(clock: &VectorClock) -> usize {
    clock
        .iter()
        .map(|(author, _)| author.name.as_str().len() + 12)
        .sum::<usize>()
        + 4
}
