//! `PartsWindow`: how much of large frames may be on its way at once.
//!
//! Whatever is on its way is in front of the next small frame, so it should be what the way holds and no more. On a machine's own network
//! that is little. Where the way is long, parts come back as read after about the same time however many of them there are, and the
//! window grows; when they take longer than the quickest one did, they wait for each other, and it shrinks (decision 026).
//!
//! A connection lives for weeks, and ways change. So now and then the next part waits until the way is empty, and what is quick is
//! measured anew.

use std::{collections::VecDeque, time::Duration};

use ostrakon_core::Time;

#[derive(Debug)]
pub(super) struct PartsWindow {
    size: u64,
    /// Bytes of all parts that were sent, and of those that the other side has reported as read.
    sent: u64,
    read: u64,
    /// How much had been sent when the window was last full.
    full_at: u64,
    /// Where each part ends that is on its way, and when it left.
    on_their_way: VecDeque<(u64, Time)>,
    /// The shortest time from sending a part to hearing that it was read.
    quickest: Duration,
    /// When that was begun to be measured.
    measured_since: Time,
    /// It was measured too long ago: nothing goes until the way is empty.
    is_emptying: bool,
}

impl Default for PartsWindow {
    fn default() -> Self {
        Self {
            size: Self::SMALLEST,
            sent: 0,
            read: 0,
            full_at: 0,
            on_their_way: VecDeque::new(),
            quickest: Duration::MAX,
            measured_since: Time::ZERO,
            is_emptying: false,
        }
    }
}

impl PartsWindow {
    /// Enough to keep a fast network busy.
    pub(super) const SMALLEST: u64 = 64 * 1024;
    /// More than a socket holds, as a rule; and a bound for what is remembered of parts.
    pub(super) const LARGEST: u64 = 4 * 1024 * 1024;
    /// How long what was quick counts as quick. To measure it costs a round trip.
    const MEASURED_FOR: Duration = Duration::from_secs(30);

    fn unread(&self) -> u64 {
        self.sent - self.read
    }

    /// Whether another part may go.
    pub(super) fn has_room(&self) -> bool {
        let most = if self.is_emptying { 1 } else { self.size };
        self.unread() < most
    }

    pub(super) fn sent(&mut self, bytes: usize, now: Time) {
        if self.unread() == 0 && self.is_outdated(now) {
            self.measure_anew(now);
        }
        self.sent += bytes as u64;
        self.on_their_way.push_back((self.sent, now));
        if !self.has_room() {
            self.full_at = self.sent;
        }
    }

    fn is_outdated(&self, now: Time) -> bool {
        now.saturating_since(self.measured_since) >= Self::MEASURED_FOR
    }

    /// The way is empty. A whole window at once would crowd it, half of one does not.
    fn measure_anew(&mut self, now: Time) {
        *self = Self {
            size: (self.size / 2).max(Self::SMALLEST),
            measured_since: now,
            ..Self::default()
        };
    }

    /// The other side says that it has read so much more.
    pub(super) fn read(&mut self, bytes: u64, now: Time) {
        let bytes = bytes.min(self.unread());
        self.read += bytes;
        let mut left = None;
        while let Some(&(end, time)) = self.on_their_way.front()
            && end <= self.read
        {
            left = Some(time);
            self.on_their_way.pop_front();
        }
        let Some(left) = left else {
            return;
        };
        let took = now.saturating_since(left);
        self.quickest = self.quickest.min(took);
        self.is_emptying = self.is_outdated(now);
        // A small frame may wait for half as long as its way takes.
        let is_crowded = took > self.quickest + self.quickest / 2;
        // By a quarter in a round trip: what comes of it is seen only after one.
        let step = bytes / 4;
        if is_crowded {
            self.size = self.size.saturating_sub(step).max(Self::SMALLEST);
        } else if self.read <= self.full_at {
            // It was one of a full window: fewer would not say that there is room for more.
            self.size = (self.size + step).min(Self::LARGEST);
        }
    }
}

#[cfg(test)]
mod tests;
