//! `Oracle`: knows what really happened, and tells every invariant.
//!
//! It keeps the state that the committed log makes under all rules, whatever the coordinators believe. The first thing that is wrong
//! is kept; what follows from it is of no interest.

use std::{rc::Rc, time::Duration};

use ostrakon_core::{
    Change, ControlState, Entry, Epoch, Failover, Incarnation, Index, ShardKey, Time,
};

use crate::{
    agenda::Moment,
    invariant::{
        AtMostOnce, Bounded, ByEnd, Checked, CommitBeforeAct, CountersGrow, Deadline,
        EndedRunsRest, NoTheft, OneOutcome, OneOwner, Order, Outcome, OwnPause, PlannedMoves,
        RecordsGrow, Who,
    },
    tally::Tally,
    violation::Violation,
};

pub(crate) struct Oracle {
    /// What the log has really made.
    pub(crate) state: ControlState,
    pub(crate) violation: Option<Violation>,
    pub(crate) tally: Tally,
    pub(crate) own_pause: OwnPause,
    pub(crate) planned_moves: PlannedMoves,
    pub(crate) bounded: Bounded,
    pub(crate) deadline: Deadline,
    pub(crate) at_most_once: AtMostOnce,
    pub(crate) one_outcome: OneOutcome,
    pub(crate) records_grow: RecordsGrow,
    one_owner: OneOwner,
    ended_runs_rest: EndedRunsRest,
    counters_grow: CountersGrow,
    commit_before_act: CommitBeforeAct,
    no_theft: NoTheft,
    order: Order,
    /// By message: whose it is, on which lane, and its number there.
    messages: Vec<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    process: u64,
    shard: usize,
    entity: usize,
    seq: u64,
    kind: Kind,
    at: Moment,
    was_replied: bool,
}

/// Whether a sender wants to hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ask,
    Tell,
}

impl Oracle {
    pub(crate) fn new(shards: usize, forget_after: Duration) -> Self {
        Self {
            state: ControlState::default(),
            violation: None,
            tally: Tally::default(),
            own_pause: OwnPause::default(),
            planned_moves: PlannedMoves::default(),
            bounded: Bounded::default(),
            deadline: Deadline::default(),
            at_most_once: AtMostOnce::default(),
            one_outcome: OneOutcome::default(),
            records_grow: RecordsGrow::new(forget_after),
            one_owner: OneOwner::new(shards),
            ended_runs_rest: EndedRunsRest::default(),
            counters_grow: CountersGrow::default(),
            commit_before_act: CommitBeforeAct::default(),
            no_theft: NoTheft::default(),
            order: Order::default(),
            messages: Vec::new(),
        }
    }

    /// Keeps the first that is wrong.
    pub(crate) fn judge(&mut self, at: Moment, invariant: &'static str, checked: Checked) {
        if let (Err(what), None) = (checked, &self.violation) {
            self.violation = Some(Violation {
                invariant,
                at,
                what,
            });
        }
    }

    /// An entry is in the log.
    pub(crate) fn committed(
        &mut self,
        now: Moment,
        index: Index,
        entry: &Rc<Entry>,
        number: impl Fn(&ShardKey) -> usize,
    ) {
        let changes = self.state.apply(index, entry).changes;
        let mut by_end = ByEnd::No;
        for change in &changes {
            self.tally.count(change);
            let checked = self.counters_grow.changed(change);
            self.judge(now, "counters grow", checked);
            let shard = match change {
                Change::Freed { shard, .. } | Change::Granted { shard, .. } => Some(number(shard)),
                Change::Ended { incarnation, .. } => {
                    by_end = ByEnd::Yes;
                    let checked = self
                        .ended_runs_rest
                        .ended(now, *incarnation, &self.one_owner);
                    self.judge(now, "ended runs rest", checked);
                    None
                }
                Change::TookOver { .. }
                | Change::Registered { .. }
                | Change::Leaving { .. }
                | Change::MoveBegan { .. }
                | Change::PolicySet
                | Change::GroupCreated { .. } => None,
            };
            self.commit_before_act.changed(shard, change);
            if let Some(shard) = shard {
                let checked = self.no_theft.changed(shard, change, by_end);
                self.judge(now, "no theft", checked);
            }
        }
    }

    /// A process takes up an ownership.
    pub(crate) fn opened(&mut self, now: Moment, process: u64, shard: usize, epoch: Epoch) {
        let checked = self.commit_before_act.opened(process, shard, epoch);
        self.judge(now, "commit before act", checked);
        let checked = self.counters_grow.opened(process, shard, epoch);
        self.judge(now, "counters grow", checked);
    }

    /// A process says that it has given up an ownership, with so much left of it.
    pub(crate) fn gave_up(
        &mut self,
        now: Moment,
        process: u64,
        (shard, epoch): (usize, Epoch),
        (running, queued): (usize, usize),
    ) {
        self.no_theft.gave_up(shard, epoch);
        let checked = self
            .planned_moves
            .gave_up(process, (shard, epoch), running, queued);
        self.judge(now, "planned moves lose nothing", checked);
    }

    /// A process acts for a shard until then, or does not.
    pub(crate) fn acts(
        &mut self,
        now: Moment,
        shard: usize,
        process: u64,
        acts: Option<(Incarnation, Epoch, Moment)>,
    ) {
        let epoch = acts.map(|(_, epoch, _)| epoch);
        self.one_owner.rests(now, shard, process, epoch);
        if let Some((incarnation, epoch, until)) = acts {
            let checked = self.ended_runs_rest.acts(incarnation);
            self.judge(now, "ended runs rest", checked);
            let who = Who {
                process,
                incarnation,
                epoch,
            };
            let checked = self.one_owner.acts(now, shard, who, until);
            self.judge(now, "one owner", checked);
        }
    }

    pub(crate) fn runs_on(&mut self, shard: usize, process: u64, until: Moment) {
        self.one_owner.runs_on(shard, process, until);
    }

    pub(crate) fn process_ends(&mut self, process: u64) {
        self.one_owner.ends(process);
        self.one_outcome.process_ends(process);
        self.records_grow.process_ends(process);
    }

    pub(crate) fn became_member(&mut self, process: u64, run: Incarnation, failover: Failover) {
        self.deadline.begins(process, run, failover);
    }

    /// A new message; returns its number.
    pub(crate) fn sent(
        &mut self,
        at: Moment,
        (process, shard, entity): (u64, usize, usize),
        seq: u64,
        kind: Kind,
    ) -> usize {
        let message = self.messages.len();
        self.messages.push(Sent {
            process,
            shard,
            entity,
            seq,
            kind,
            at,
            was_replied: false,
        });
        self.at_most_once.sent();
        if kind == Kind::Ask {
            self.one_outcome.asked(message, process);
        }
        self.tally.sent += 1;
        message
    }

    /// A handler begins, on a process whose clock shows `local`.
    pub(crate) fn handled(
        &mut self,
        now: Moment,
        message: usize,
        (process, epoch): (u64, Epoch),
        local: Time,
    ) {
        self.tally.handled += 1;
        let sent = self.messages[message];
        let checked = self.deadline.handles(process, local);
        self.judge(now, "nobody acts after its deadline", checked);
        if self.no_theft.has_given_up(sent.shard, epoch) {
            let what = format!(
                "shard {} at {epoch} was given up and handles message {message}",
                sent.shard
            );
            self.judge(now, "one owner", Err(what));
        }
        let checked = self.at_most_once.handled(message);
        self.judge(now, "at most once", checked);
        let checked = self.one_outcome.handled(message);
        self.judge(now, "one true outcome", checked);
        let lane = (sent.process, sent.shard, sent.entity);
        let checked = self.order.handled(lane, sent.seq);
        self.judge(now, "order", checked);
    }

    /// A sender learns, or decides, what became of a message.
    pub(crate) fn ended(&mut self, now: Moment, message: usize, outcome: Outcome) {
        if self.messages[message].kind == Kind::Tell {
            return;
        }
        match outcome {
            Outcome::Reply => {
                self.messages[message].was_replied = true;
                self.tally.replies += 1;
            }
            Outcome::NotHandled => self.tally.not_handled += 1,
            Outcome::Unknown => self.tally.unknown += 1,
        }
        let was_handled = self.at_most_once.was_handled(message);
        let checked = self.one_outcome.ended(message, outcome, was_handled);
        self.judge(now, "one true outcome", checked);
    }

    pub(crate) fn was_replied(&self, message: usize) -> bool {
        self.messages[message].was_replied
    }

    pub(crate) fn sent_at(&self, message: usize) -> Moment {
        self.messages[message].at
    }
}
