//! What must be true at every moment, one file for each.
//!
//! An invariant is told what really happened, on a clock that nobody in the cluster has, and says what is wrong. None of them asks
//! the code under test what it believes, except for whether it believes that it may act.

mod at_most_once;
mod bounded;
mod commit_before_act;
mod counters_grow;
mod deadline;
mod ended_runs_rest;
mod knows_itself;
mod no_theft;
mod one_outcome;
mod one_owner;
mod order;
mod own_pause;
mod planned_moves;
mod records_grow;

pub(crate) use self::{
    at_most_once::AtMostOnce,
    bounded::Bounded,
    commit_before_act::CommitBeforeAct,
    counters_grow::CountersGrow,
    deadline::Deadline,
    ended_runs_rest::EndedRunsRest,
    knows_itself::knows_itself,
    no_theft::{ByEnd, NoTheft},
    one_outcome::{OneOutcome, Outcome},
    one_owner::{OneOwner, Who},
    order::Order,
    own_pause::OwnPause,
    planned_moves::PlannedMoves,
    records_grow::RecordsGrow,
};

/// What is wrong, in words.
pub(crate) type Checked = Result<(), String>;
