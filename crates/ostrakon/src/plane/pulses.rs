//! `Pulses`: the latest pulse of each kind on this node, and what they say about the node.
//!
//! Those who look after the cluster are told for the sake of people; nothing is decided by it.

use std::{collections::BTreeMap, time::Duration};

use ostrakon_control::{HotEntity, HotShard, Vitals};
use ostrakon_core::{EntityKind, ShardKey, Time};

use crate::host::{Latencies, Pulse};

/// A kind whose pulse is older than this handles nothing: what should take it does not run.
const STALE: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(crate) struct Pulses {
    latest: BTreeMap<&'static str, Taken>,
}

struct Taken {
    at: Time,
    pulse: Box<Pulse>,
}

impl Pulses {
    pub(crate) fn note(&mut self, at: Time, pulse: Box<Pulse>) {
        self.latest.insert(pulse.kind, Taken { at, pulse });
    }

    /// What the node is doing.
    pub(crate) fn vitals(&self, now: Time) -> Vitals {
        let all = self.latest.values().map(|taken| &taken.pulse);
        let (entities, queued) = all.fold((0, 0), |(entities, queued), pulse| {
            (entities + pulse.entities, queued + pulse.queued)
        });
        let mut latencies = Latencies::default();
        self.fresh(now)
            .for_each(|pulse| latencies.add(&pulse.latencies));
        let nanos = |part| {
            let took = latencies.quantile(part)?;
            u64::try_from(took.as_nanos()).ok()
        };
        Vitals {
            messages_per_1000s: self.fresh(now).map(|pulse| pulse.rate).sum(),
            p50_ns: nanos(0.5),
            p99_ns: nanos(0.99),
            entities,
            queued,
            lease_left_ms: None,
            hot_shards: self.hot_shards(now),
            hot_entities: self.hot_entities(now),
        }
    }

    fn fresh(&self, now: Time) -> impl Iterator<Item = &Pulse> {
        let taken = self.latest.values();
        let fresh = taken.filter(move |taken| now.saturating_since(taken.at) < STALE);
        fresh.map(|taken| &*taken.pulse)
    }

    /// A shard has the messages of all kinds that live in it, as far as it is hot for them.
    fn hot_shards(&self, now: Time) -> Vec<HotShard> {
        let mut rates: BTreeMap<ShardKey, u64> = BTreeMap::new();
        for pulse in self.fresh(now) {
            for (shard, rate) in &pulse.hot_shards {
                let (group, shard) = (pulse.group.clone(), *shard);
                *rates.entry(ShardKey { group, shard }).or_default() += rate;
            }
        }
        let hot = rates
            .into_iter()
            .map(|(shard, messages_per_1000s)| HotShard {
                shard,
                messages_per_1000s,
            });
        hottest(hot.collect(), |hot| hot.messages_per_1000s)
    }

    fn hot_entities(&self, now: Time) -> Vec<HotEntity> {
        let mut all = Vec::new();
        for pulse in self.fresh(now) {
            let Ok(kind) = EntityKind::new(pulse.kind) else {
                continue;
            };
            all.extend(pulse.hot_entities.iter().map(|(id, rate)| HotEntity {
                kind: kind.clone(),
                id: id.clone(),
                messages_per_1000s: *rate,
            }));
        }
        hottest(all, |hot| hot.messages_per_1000s)
    }
}

fn hottest<T>(mut all: Vec<T>, rate: impl Fn(&T) -> u64) -> Vec<T> {
    all.sort_by_key(|one| std::cmp::Reverse(rate(one)));
    all.truncate(Vitals::MOST_HOT);
    all
}

#[cfg(test)]
mod tests {
    use ostrakon_core::{EntityId, GroupName, ShardId};

    use super::*;

    fn pulse(kind: &'static str, shards: &[(u32, u64)], entities: &[(&str, u64)]) -> Box<Pulse> {
        let shard = |(number, rate): &(u32, u64)| (ShardId::new(*number).unwrap(), *rate);
        let entity = |(id, rate): &(&str, u64)| (EntityId::new(id).unwrap(), *rate);
        let mut latencies = Latencies::default();
        latencies.note(Duration::from_micros(10));
        Box::new(Pulse {
            kind,
            group: GroupName::default(),
            rate: shards.iter().map(|(_, rate)| rate).sum(),
            entities: 100,
            queued: 1,
            latencies,
            hot_shards: shards.iter().map(shard).collect(),
            hot_entities: entities.iter().map(entity).collect(),
        })
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn kinds_are_summed_up() {
        let mut pulses = Pulses::default();
        pulses.note(
            at(1),
            pulse("account", &[(7, 500), (8, 400)], &[("a", 300)]),
        );
        pulses.note(at(1), pulse("guild", &[(8, 200)], &[("g", 350)]));
        let vitals = pulses.vitals(at(2));
        assert_eq!(vitals.messages_per_1000s, 1100);
        assert_eq!((vitals.entities, vitals.queued), (200, 2));
        let shards = vitals.hot_shards.iter();
        let shards: Vec<_> = shards.map(|hot| hot.shard.shard.get()).collect();
        assert_eq!(shards, [8, 7]);
        assert_eq!(vitals.hot_shards[0].messages_per_1000s, 600);
        let entities = vitals.hot_entities.iter();
        let entities: Vec<_> = entities.map(|hot| hot.kind.as_str()).collect();
        assert_eq!(entities, ["guild", "account"]);
        assert!(vitals.p50_ns.is_some_and(|nanos| nanos >= 10_000));
    }

    #[test]
    fn no_more_is_named_than_may_be() {
        let mut pulses = Pulses::default();
        let shards: Vec<_> = (1..=10).map(|number| (number, 5)).collect();
        let others: Vec<_> = (11..=20).map(|number| (number, 6)).collect();
        pulses.note(at(1), pulse("account", &shards, &[("a", 1); 10]));
        pulses.note(at(1), pulse("guild", &others, &[("g", 1); 10]));
        let vitals = pulses.vitals(at(1));
        assert!(vitals.is_bounded());
        assert!(
            vitals
                .hot_shards
                .iter()
                .all(|hot| hot.shard.shard.get() > 10)
        );
    }

    #[test]
    fn a_kind_whose_pulse_is_taken_no_more_handles_nothing() {
        let mut pulses = Pulses::default();
        pulses.note(at(1), pulse("account", &[(7, 500)], &[("a", 300)]));
        let later = pulses.vitals(at(9));
        assert_eq!(later.messages_per_1000s, 0);
        assert_eq!((later.entities, later.queued), (100, 1));
        assert!(later.hot_shards.is_empty() && later.hot_entities.is_empty());
        assert_eq!(later.p50_ns, None);
    }
}
