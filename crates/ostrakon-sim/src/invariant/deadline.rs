//! Nobody acts after its deadline, which is a lease's length after it sent the last renewal that was answered.

use std::collections::{BTreeMap, VecDeque};

use ostrakon_core::{Failover, Incarnation, Time};

use super::Checked;

#[derive(Default)]
pub(crate) struct Deadline {
    /// By process.
    runs: BTreeMap<u64, Run>,
}

struct Run {
    incarnation: Incarnation,
    failover: Failover,
    sent: VecDeque<(u64, Time)>,
    deadline: Time,
}

/// So many renewals are remembered.
const REMEMBERED: usize = 256;

impl Deadline {
    /// A process has become a run.
    pub(crate) fn begins(&mut self, process: u64, incarnation: Incarnation, failover: Failover) {
        let run = Run {
            incarnation,
            failover,
            sent: VecDeque::new(),
            deadline: Time::ZERO,
        };
        self.runs.insert(process, run);
    }

    pub(crate) fn renews(&mut self, process: u64, seq: u64, now: Time) {
        if let Some(run) = self.runs.get_mut(&process) {
            run.sent.push_back((seq, now));
            if run.sent.len() > REMEMBERED {
                run.sent.pop_front();
            }
        }
    }

    pub(crate) fn answered(&mut self, process: u64, incarnation: Incarnation, seq: u64) {
        let Some(run) = self.runs.get_mut(&process) else {
            return;
        };
        let sent = run.sent.iter().find(|(number, _)| *number == seq);
        if let (Some((_, sent)), Some(timing)) = (sent, run.failover.lease())
            && run.incarnation == incarnation
        {
            run.deadline = run.deadline.max(*sent + timing.times().hold);
        }
    }

    /// A process believes that it may act until `until`; `None` for ever.
    pub(crate) fn believes(&self, process: u64, until: Option<Time>) -> Checked {
        let Some(run) = self.runs.get(&process) else {
            return Err(format!("process {process} acts and was never let in"));
        };
        match (run.failover.lease(), until) {
            (None, _) => Ok(()),
            (Some(_), Some(until)) if until <= run.deadline => Ok(()),
            (Some(_), until) => Err(format!(
                "{} would act until {until:?} and may only until {}",
                run.incarnation, run.deadline
            )),
        }
    }

    /// A handler begins.
    pub(crate) fn handles(&self, process: u64, now: Time) -> Checked {
        let Some(run) = self.runs.get(&process) else {
            return Err(format!(
                "process {process} handles a message and was never let in"
            ));
        };
        match run.failover.lease() {
            Some(_) if now >= run.deadline => Err(format!(
                "{} handles a message at {now}, after its deadline {}",
                run.incarnation, run.deadline
            )),
            Some(_) | None => Ok(()),
        }
    }
}
