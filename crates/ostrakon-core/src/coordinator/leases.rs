//! `Leases`: when each node was last heard, as the coordinator sees it.
//!
//! It errs late: a node is expired not before `wait` after it was last heard, and after every doubt about the coordinator's own
//! continuity that wait begins anew. A longer wait is always safe.

use std::{collections::BTreeMap, time::Duration};

use super::Counted;
use crate::{Command, Entry, Incarnation, LeaseTiming, Rule, Rules, Time};

/// How often a coordinator looks when nothing happens, if there are no leases.
const WITHOUT_LEASES: Duration = Duration::from_secs(1);
/// How far a run has counted that has not begun to.
const NOT_COUNTED: Counted = Counted { seq: 0, ok_seq: 0 };

pub(super) struct Leases {
    rules: Rules,
    runs: BTreeMap<Incarnation, Lease>,
}

struct Lease {
    /// `None`: it lives without.
    timing: Option<LeaseTiming>,
    heard: Time,
    /// When the node itself last spoke to us: what it counts in the storage tells us that it lives, not that it hears us.
    spoke: Time,
    /// It is to be expired, and never answered again.
    condemned: bool,
    /// The last renewal that the node knows to have been answered.
    ok_seq: u64,
    /// Since when answers have been sent without the node noticing.
    answering_since: Option<Time>,
    /// How far the node has counted in the storage, as far as anybody has looked.
    counted: Counted,
}

/// How often a coordinator looks after a node from which it hears nothing.
fn regular_pause(timing: Option<LeaseTiming>) -> Duration {
    timing.map_or(WITHOUT_LEASES, |timing| timing.times().renew / 2)
}

impl Leases {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            runs: BTreeMap::new(),
        }
    }

    /// How often to look when nothing happens: often enough for the shortest of the leases.
    pub(super) fn regular_pause(&self) -> Duration {
        let pauses = self.runs.values().map(|lease| regular_pause(lease.timing));
        pauses.min().unwrap_or(WITHOUT_LEASES)
    }

    /// Begins with these runs: nobody has been heard, so everybody has just been heard.
    pub(super) fn take_over(
        &mut self,
        runs: impl Iterator<Item = (Incarnation, Option<LeaseTiming>)>,
        now: Time,
    ) {
        let heard = if self.rules.keep(Rule::GraceAfterTakeover) {
            now
        } else {
            Time::ZERO
        };
        self.runs = runs
            .map(|(run, timing)| (run, Lease::heard_at(heard, timing)))
            .collect();
    }

    /// Everybody's wait begins anew. That nobody was answered meanwhile is not their fault either.
    pub(super) fn start_anew(&mut self, now: Time) {
        for lease in self.runs.values_mut() {
            (lease.heard, lease.spoke) = (now, now);
            lease.answering_since = None;
        }
    }

    pub(super) fn begin(&mut self, run: Incarnation, timing: Option<LeaseTiming>, now: Time) {
        self.runs.insert(run, Lease::heard_at(now, timing));
    }

    pub(super) fn end(&mut self, run: Incarnation) {
        self.runs.remove(&run);
    }

    pub(super) fn is_condemned(&self, run: Incarnation) -> bool {
        self.runs.get(&run).is_none_or(|lease| lease.condemned)
    }

    /// A renewal has come. `false`: it does not count.
    pub(super) fn heard(&mut self, run: Incarnation, ok_seq: u64, now: Time) -> bool {
        let condemned_counts = !self.rules.keep(Rule::CondemnedIsNotAnswered);
        let deaf_expire = self.rules.keep(Rule::DeafNodesExpire);
        let Some(lease) = self.runs.get_mut(&run) else {
            return false;
        };
        if lease.condemned && !condemned_counts {
            return false;
        }
        lease.hears(ok_seq);
        if let (Some(since), Some(timing)) = (lease.answering_since, lease.timing)
            && now.saturating_since(since) > timing.times().hold
            && deaf_expire
        {
            return false;
        }
        (lease.heard, lease.spoke) = (now, now);
        true
    }

    /// A run has counted so far in the storage. `true`: it is not to be expired, though it was.
    ///
    /// The storage answers whoever counts, and it is not ours to stop it: so every count is heard, also of a run that seems to miss
    /// its answers, and a condemned run is absolved. An attempt to expire it that is still on its way fails, because it names an
    /// earlier count.
    pub(super) fn counted(&mut self, run: Incarnation, counted: Counted, now: Time) -> bool {
        let Some(lease) = self.runs.get_mut(&run) else {
            return false;
        };
        // Whoever looked may have been overtaken by one who looked later.
        if counted.seq <= lease.counted.seq {
            return false;
        }
        lease.counted = counted;
        lease.heard = now;
        lease.hears(counted.ok_seq);
        std::mem::take(&mut lease.condemned)
    }

    /// How far those have counted in the storage whom these entries expire. Of one that nobody has looked at it is nothing: if that is
    /// wrong, whatever names it fails.
    pub(super) fn unmoved<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
    ) -> Vec<(Incarnation, Counted)> {
        let counted = |entry: &Entry| {
            let Command::Expire { incarnation } = entry.command else {
                return None;
            };
            let lease = self.runs.get(&incarnation)?;
            Some((incarnation, lease.counted))
        };
        entries.into_iter().filter_map(counted).collect()
    }

    /// Whether a run may be told that it may act on.
    pub(super) fn may_answer(&mut self, run: Incarnation, now: Time) -> bool {
        let condemned_counts = !self.rules.keep(Rule::CondemnedIsNotAnswered);
        let Some(lease) = self.runs.get_mut(&run) else {
            return false;
        };
        lease.answering_since.get_or_insert(now);
        !lease.condemned || condemned_counts
    }

    /// Those that have been silent for longer than a renewal takes.
    pub(super) fn silent(&self, now: Time) -> Vec<Incarnation> {
        let silent = |lease: &Lease| lease.is_long_since(lease.heard, now);
        let runs = self.runs.iter().filter(|(_, lease)| silent(lease));
        runs.map(|(run, _)| *run).collect()
    }

    /// Whether a run has spoken to us lately and may get shards.
    pub(super) fn is_responsive(&self, run: Incarnation, now: Time) -> bool {
        let lease = self.runs.get(&run);
        lease.is_some_and(|lease| !lease.condemned && !lease.is_long_since(lease.spoke, now))
    }

    /// Notes who has surely stopped by now. From here on they are not answered any more, whatever becomes of the proposal to
    /// expire them.
    pub(super) fn condemn(&mut self, now: Time) {
        for lease in self.runs.values_mut() {
            lease.condemned |= lease.ends().is_some_and(|end| now >= end);
        }
    }

    /// Those that are to be expired.
    pub(super) fn condemned(&self) -> Vec<Incarnation> {
        let condemned = self.runs.iter().filter(|(_, lease)| lease.condemned);
        condemned.map(|(run, _)| *run).collect()
    }

    pub(super) fn next_expiry(&self) -> Option<Time> {
        let open = self.runs.values().filter(|lease| !lease.condemned);
        open.filter_map(Lease::ends).min()
    }
}

impl Lease {
    fn heard_at(now: Time, timing: Option<LeaseTiming>) -> Self {
        Self {
            timing,
            heard: now,
            spoke: now,
            condemned: false,
            ok_seq: 0,
            answering_since: None,
            counted: NOT_COUNTED,
        }
    }

    /// The node knows that this renewal was answered.
    fn hears(&mut self, ok_seq: u64) {
        if ok_seq > self.ok_seq {
            self.ok_seq = ok_seq;
            self.answering_since = None;
        }
    }

    /// When the node has surely stopped, if it has not been heard again by then.
    fn ends(&self) -> Option<Time> {
        self.timing.map(|timing| self.heard + timing.times().wait)
    }

    fn is_long_since(&self, last: Time, now: Time) -> bool {
        now.saturating_since(last) > regular_pause(self.timing) * 5
    }
}
