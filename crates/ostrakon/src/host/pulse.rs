//! `Pulse`: what the entities of one kind have done in the last second, for people to look at.
//!
//! Shards are counted, entities are sampled. Nothing is decided by it.

use std::time::Duration;

use ostrakon_control::Vitals;
use ostrakon_core::{EntityId, GroupName, ShardId, Time};

use super::{latencies::Latencies, samples::Samples, stats::Totals};
use crate::lock::Mutex;

/// What a kind has done. Rates are messages in a thousand seconds.
pub(crate) struct Pulse {
    pub(crate) kind: &'static str,
    pub(crate) group: GroupName,
    pub(crate) rate: u64,
    pub(crate) entities: u64,
    pub(crate) queued: u64,
    pub(crate) latencies: Latencies,
    pub(crate) hot_shards: Vec<(ShardId, u64)>,
    pub(crate) hot_entities: Vec<(EntityId, u64)>,
}

/// Makes a pulse of what has been counted since the last.
pub(crate) struct PulseTaker {
    kind: &'static str,
    group: GroupName,
    last: Time,
    handled: u64,
    /// What each shard had handled.
    shards: Vec<u64>,
    /// Those that have handled the most since, the hottest first.
    hottest: Vec<(ShardId, u64)>,
}

impl PulseTaker {
    pub(crate) fn new(kind: &'static str, group: GroupName, now: Time) -> Self {
        Self {
            kind,
            group,
            last: now,
            handled: 0,
            shards: Vec::new(),
            hottest: Vec::new(),
        }
    }

    /// A shard has handled so many messages in its life.
    pub(crate) fn counted(&mut self, shard: ShardId, handled: u64) {
        let place = shard.index();
        if self.shards.len() <= place {
            self.shards.resize(place + 1, 0);
        }
        let before = std::mem::replace(&mut self.shards[place], handled);
        let since = handled.saturating_sub(before);
        let at = self.hottest.partition_point(|(_, other)| *other >= since);
        if since > 0 && at < Vitals::MOST_HOT {
            self.hottest.insert(at, (shard, since));
            self.hottest.truncate(Vitals::MOST_HOT);
        }
    }

    pub(crate) fn take(&mut self, now: Time, totals: Totals, samples: &Mutex<Samples>) -> Pulse {
        let period = now.saturating_since(self.last);
        self.last = now;
        let handled = totals.handled.saturating_sub(self.handled);
        self.handled = totals.handled;
        let rate = rate(handled, period);
        let hottest = std::mem::take(&mut self.hottest).into_iter();
        let hot_shards = hottest.map(|(shard, since)| (shard, self::rate(since, period)));
        let mut samples = samples.lock();
        let shares = samples.spots.hottest(Vitals::MOST_HOT).into_iter();
        let latencies = samples.latencies.clone();
        samples.fade();
        drop(samples);
        let hot_entities = shares.map(|hot| (hot.id, (hot.share * rate as f64) as u64));
        Pulse {
            kind: self.kind,
            group: self.group.clone(),
            rate,
            entities: totals.active,
            queued: totals.queued,
            latencies,
            hot_shards: hot_shards.collect(),
            hot_entities: hot_entities.filter(|(_, rate)| *rate > 0).collect(),
        }
    }
}

/// So many messages in that time, as messages in a thousand seconds.
fn rate(messages: u64, period: Duration) -> u64 {
    let period = period.max(Duration::from_millis(1)).as_secs_f64();
    (messages as f64 * 1000.0 / period) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: u32) -> ShardId {
        ShardId::new(number).unwrap()
    }

    fn totals(handled: u64) -> Totals {
        Totals {
            active: 3,
            queued: 2,
            handled,
            ..Totals::default()
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn it_is_about_what_has_happened_since_the_last() {
        let samples = Mutex::new(Samples::default());
        let mut taker = PulseTaker::new("account", GroupName::default(), at(0));
        for (number, handled) in [(1, 5), (2, 15), (3, 0)] {
            taker.counted(shard(number), handled);
        }
        let first = taker.take(at(1), totals(20), &samples);
        assert_eq!((first.rate, first.entities, first.queued), (20_000, 3, 2));
        assert_eq!(first.hot_shards, [(shard(2), 15_000), (shard(1), 5_000)]);
        taker.counted(shard(1), 9);
        taker.counted(shard(2), 15);
        let second = taker.take(at(3), totals(24), &samples);
        assert_eq!(second.rate, 2_000);
        assert_eq!(second.hot_shards, [(shard(1), 2_000)]);
    }

    #[test]
    fn only_the_hottest_shards_are_named_in_their_order() {
        let samples = Mutex::new(Samples::default());
        let mut taker = PulseTaker::new("account", GroupName::default(), at(0));
        for number in 1..=100 {
            taker.counted(shard(number), u64::from(number * 37 % 101));
        }
        let hot = taker.take(at(1), totals(1), &samples).hot_shards;
        let rates: Vec<_> = hot.iter().map(|(_, rate)| rate / 1000).collect();
        assert_eq!(rates, (91..=100).rev().collect::<Vec<_>>());
    }

    #[test]
    fn entities_get_their_share_of_all_messages() {
        let samples = Mutex::new(Samples::default());
        let (a, b) = (EntityId::new("a").unwrap(), EntityId::new("b").unwrap());
        for _ in 0..3 {
            for id in [&a, &a, &a, &b] {
                samples.lock().note(7, id, Duration::from_micros(9));
            }
        }
        let mut taker = PulseTaker::new("account", GroupName::default(), at(0));
        let pulse = taker.take(at(1), totals(400), &samples);
        assert_eq!(pulse.hot_entities, [(a, 300_000), (b, 100_000)]);
        assert!(pulse.latencies.quantile(0.5) >= Some(Duration::from_micros(9)));
        let idle = taker.take(at(2), totals(400), &samples);
        assert!(
            idle.hot_entities.is_empty(),
            "nobody is hot without messages"
        );
    }
}
