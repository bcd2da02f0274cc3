//! `HotSpots`: which entities of a kind get the most messages, in little memory.
//!
//! It counts a few ids at a time; one that is not among them takes the place of the least counted, and inherits its count as the most by
//! which it may be counted too high (the space-saving of Metwally, Agrawal and El Abbadi, 2005). What is told is what is certain: the
//! count without that error. Counts fade, so that it is about the last seconds. Invariant: never more than [`PLACES`] ids, and every id with
//! more than its share of all samples, one in [`PLACES`], is among them.

use ostrakon_core::EntityId;

/// So many ids are counted.
const PLACES: usize = 64;

/// What is seen less often than this has not been seen twice lately: that says nothing.
const ONCE: f32 = 1.0;

#[derive(Default)]
pub(crate) struct HotSpots {
    spots: Vec<Spot>,
    /// All samples.
    total: f32,
}

struct Spot {
    /// The hash of the id, which tells most ids apart without looking at them.
    key: u64,
    id: EntityId,
    count: f32,
    /// The most by which the count may be too high.
    error: f32,
}

/// An entity, and its part of all messages, from 0 to 1.
pub(crate) struct Share {
    pub(crate) id: EntityId,
    pub(crate) share: f64,
}

impl HotSpots {
    pub(crate) fn note(&mut self, key: u64, id: &EntityId) {
        self.total += 1.0;
        let known = |spot: &&mut Spot| spot.key == key && spot.id == *id;
        if let Some(spot) = self.spots.iter_mut().find(known) {
            spot.count += 1.0;
            return;
        }
        let (mut count, mut error) = (1.0, 0.0);
        if self.spots.len() == PLACES
            && let Some(coldest) = self.coldest()
        {
            error = self.spots.swap_remove(coldest).count;
            count += error;
        }
        let id = id.clone();
        self.spots.push(Spot {
            key,
            id,
            count,
            error,
        });
    }

    fn coldest(&self) -> Option<usize> {
        let spots = self.spots.iter().enumerate();
        let coldest = spots.min_by(|(_, one), (_, other)| one.count.total_cmp(&other.count));
        coldest.map(|(place, _)| place)
    }

    /// Lets go of a part of all that was counted.
    pub(crate) fn fade(&mut self, keep: f32) {
        self.total *= keep;
        for spot in &mut self.spots {
            spot.count *= keep;
            spot.error *= keep;
        }
        // What is hardly there any more makes room.
        self.spots.retain(|spot| spot.count > ONCE / 64.0);
    }

    /// The hottest, at most so many, the hottest first.
    pub(crate) fn hottest(&self, most: usize) -> Vec<Share> {
        let seen = |spot: &Spot| spot.count - spot.error;
        let mut hot: Vec<_> = self.spots.iter().filter(|spot| seen(spot) > ONCE).collect();
        hot.sort_by(|one, other| {
            let by_count = seen(other).total_cmp(&seen(one));
            by_count.then_with(|| one.id.cmp(&other.id))
        });
        let hot = hot.into_iter().take(most).map(|spot| Share {
            id: spot.id.clone(),
            share: f64::from(seen(spot) / self.total),
        });
        hot.collect()
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_core::stable_hash;

    use super::*;

    fn note(spots: &mut HotSpots, id: &str) {
        spots.note(stable_hash(id), &EntityId::new(id).unwrap());
    }

    fn hottest(spots: &HotSpots, most: usize) -> Vec<(String, f64)> {
        let hot = spots.hottest(most).into_iter();
        hot.map(|hot| (hot.id.to_string(), hot.share)).collect()
    }

    #[test]
    fn few_ids_are_counted_exactly() {
        let mut spots = HotSpots::default();
        for (id, times) in [("a", 6), ("b", 3), ("c", 1)] {
            (0..times).for_each(|_| note(&mut spots, id));
        }
        let hot = hottest(&spots, 10);
        assert_eq!(hot.len(), 2, "one sample says nothing: {hot:?}");
        assert_eq!(hot[0].0, "a");
        assert!((hot[0].1 - 0.6).abs() < 1e-6, "{hot:?}");
        assert!((hot[1].1 - 0.3).abs() < 1e-6, "{hot:?}");
        assert_eq!(hottest(&spots, 1).len(), 1);
    }

    #[test]
    fn a_hot_one_is_found_among_very_many_and_is_not_made_hotter_than_it_is() {
        let mut spots = HotSpots::default();
        let mut random = fastrand::Rng::with_seed(7);
        let mut times = 0;
        for n in 0..100_000 {
            if random.u32(..10) == 0 {
                times += 1;
                note(&mut spots, "hot");
            } else {
                note(&mut spots, &format!("cold-{n}"));
            }
            assert!(spots.spots.len() <= PLACES);
        }
        let share = f64::from(times) / 100_000.0;
        let hot = hottest(&spots, 10);
        assert_eq!(hot.len(), 1, "nobody else came twice: {hot:?}");
        assert_eq!(hot[0].0, "hot");
        assert!((share * 0.9..share + 1e-6).contains(&hot[0].1), "{hot:?}");
    }

    #[test]
    fn what_was_hot_is_forgotten() {
        let mut spots = HotSpots::default();
        (0..1000).for_each(|_| note(&mut spots, "before"));
        for _ in 0..20 {
            spots.fade(0.5);
            note(&mut spots, "now");
            note(&mut spots, "now");
        }
        let hot = hottest(&spots, 10);
        assert_eq!(hot.len(), 1, "{hot:?}");
        assert_eq!(hot[0].0, "now");
        (0..20).for_each(|_| spots.fade(0.5));
        assert!(spots.spots.is_empty(), "nobody is remembered for ever");
    }

    #[test]
    fn ids_with_the_same_hash_are_two() {
        let mut spots = HotSpots::default();
        let (one, other) = (EntityId::new("one").unwrap(), EntityId::new("two").unwrap());
        (0..2).for_each(|_| spots.note(1, &one));
        (0..3).for_each(|_| spots.note(1, &other));
        assert_eq!(hottest(&spots, 10).len(), 2);
    }
}
