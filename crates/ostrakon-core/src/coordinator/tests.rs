//! A coordinator beside a log that does what it is told, or what the test wants.

mod counting;
mod giving_out;
mod leading;
mod leases;
mod nodes;
mod portions;

use std::{collections::BTreeSet, time::Duration};

use super::*;
use crate::{
    GroupName, GroupSpec, Handover, LeaseTiming, NodeVersion, Ownership, Registration, ShardCount,
    ToCoordinator, ToRegion,
};

/// A coordinator, the log, and what the coordinator wanted besides.
struct Desk {
    coordinator: Coordinator,
    log: Vec<Entry>,
    now: Time,
    /// What becomes of the next attempts to append.
    fate: AppendOutcome,
    /// How much the log takes at once.
    takes: usize,
    /// Attempts that are on their way, if they take long.
    under_way: Option<Vec<(u64, Index, Vec<Entry>)>>,
    said: Vec<(String, ToRegion)>,
    probed: Vec<Incarnation>,
    /// Checks of authority that have begun.
    checks: Vec<u64>,
    /// By attempt to expire a run: how far it was known to have counted.
    named: Vec<Counted>,
}

impl Desk {
    fn following() -> Self {
        Self {
            coordinator: Coordinator::new(NodeName::new("boss").unwrap(), 1),
            log: Vec::new(),
            now: Time::ZERO + Duration::from_secs(100),
            fate: AppendOutcome::Done,
            takes: usize::MAX,
            under_way: None,
            said: Vec::new(),
            probed: Vec::new(),
            checks: Vec::new(),
            named: Vec::new(),
        }
    }

    fn leading() -> Self {
        let mut desk = Self::following();
        desk.step(CoordinatorInput::Lead);
        assert!(desk.coordinator.leads().is_some());
        desk
    }

    fn step(&mut self, input: CoordinatorInput) {
        let actions = self.coordinator.step(self.now, input);
        for action in actions {
            self.act(action);
        }
    }

    fn act(&mut self, action: CoordinatorAction) {
        match action {
            CoordinatorAction::Append { id, after, entries } => self.append(id, after, entries),
            CoordinatorAction::Read => {
                self.report();
                self.step(CoordinatorInput::ReadEnded);
            }
            CoordinatorAction::Confirm { id } => self.checks.push(id),
            CoordinatorAction::Send { to, message } => {
                self.said.push((to.name.to_string(), message));
            }
            CoordinatorAction::SendToRun {
                incarnation,
                message,
            } => self.said.push((incarnation.to_string(), message)),
            CoordinatorAction::Probe { incarnation } => self.probed.push(incarnation),
        }
    }

    fn append(&mut self, id: u64, after: Index, entries: Vec<Entry>) {
        let unmoved = self.coordinator.unmoved(&entries);
        self.named
            .extend(unmoved.into_iter().map(|(_, counted)| counted));
        if let Some(under_way) = &mut self.under_way {
            under_way.push((id, after, entries));
            return;
        }
        let parts: usize = entries.iter().map(|entry| parts(&entry.command)).sum();
        let is_too_large = self.fate == AppendOutcome::Done && parts > self.takes;
        let outcome = match is_too_large {
            true => AppendOutcome::TooLarge,
            false => self.fate,
        };
        if outcome == AppendOutcome::Done {
            assert_eq!(after.get(), self.log.len() as u64);
            self.log.extend(entries);
            self.report();
        }
        self.step(CoordinatorInput::AppendEnded { id, outcome });
    }

    /// Reports what is in the log.
    fn report(&mut self) {
        let known = self.coordinator.state().applied().get() as usize;
        for (place, entry) in self.log.clone().into_iter().enumerate().skip(known) {
            let index = Index::new(place as u64 + 1);
            self.step(CoordinatorInput::Committed { index, entry });
        }
    }

    fn after(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.coordinator.next_wakeup().filter(|next| *next <= end) {
            self.now = next.max(self.now + Duration::from_millis(1));
            self.step(CoordinatorInput::Wake);
        }
        self.now = end;
        self.step(CoordinatorInput::Wake);
    }

    fn hear(&mut self, message: ToCoordinator) {
        self.step(CoordinatorInput::Heard(message));
    }

    /// A node joins, and has its share as far as it gets one at once.
    fn join(&mut self, name: &str, nonce: u64) -> Incarnation {
        self.hear(register(name, nonce));
        self.after(Duration::from_millis(400));
        self.coordinator
            .state()
            .registered(nonce)
            .expect("registered")
    }

    fn renew(&mut self, incarnation: Incarnation, seq: u64) {
        let seen = self.coordinator.state().applied();
        let ok_seq = seq.saturating_sub(1);
        self.hear(ToCoordinator::Renew {
            incarnation,
            seq,
            ok_seq,
            seen,
        });
    }

    /// A node renews, is answered, and does not hear it. A second goes by.
    fn renew_unheard(&mut self, incarnation: Incarnation, seq: u64) {
        let seen = self.coordinator.state().applied();
        self.hear(ToCoordinator::Renew {
            incarnation,
            seq,
            ok_seq: 0,
            seen,
        });
        self.confirm(ConfirmOutcome::Confirmed);
        self.after(seconds(1));
    }

    fn confirm(&mut self, outcome: ConfirmOutcome) {
        for id in std::mem::take(&mut self.checks) {
            self.step(CoordinatorInput::ConfirmEnded { id, outcome });
        }
    }

    fn answered(&self, incarnation: Incarnation) -> usize {
        let renewed = |said: &&(String, ToRegion)| matches!(said.1, ToRegion::RenewOk { incarnation: to, .. } if to == incarnation);
        self.said.iter().filter(renewed).count()
    }

    fn has(&self, incarnation: Incarnation) -> usize {
        let state = self.coordinator.state();
        let shards = state.groups().flat_map(|group| &group.shards);
        shards
            .filter(|ownership| ownership.owner().is_some_and(|(by, _)| by == incarnation))
            .count()
    }

    fn is_member(&self, incarnation: Incarnation) -> bool {
        self.coordinator.state().member(incarnation).is_some()
    }
}

/// How many shards a command is about, or one if it is about something else.
fn parts(command: &Command) -> usize {
    match command {
        Command::BeginMove(moves) => moves.len(),
        Command::Released(released) => released.len(),
        Command::Grant(grants) => grants.len(),
        Command::Takeover { .. }
        | Command::Register(_)
        | Command::Leave { .. }
        | Command::Expire { .. }
        | Command::ConfirmDead { .. }
        | Command::SetPolicy(_)
        | Command::CreateGroup(_) => 1,
    }
}

fn register(name: &str, nonce: u64) -> ToCoordinator {
    ToCoordinator::Register {
        registration: Registration {
            name: NodeName::new(name).unwrap(),
            address: format!("{name}:1"),
            nonce,
            version: NodeVersion::default(),
            roles: BTreeSet::new(),
            place: std::collections::BTreeMap::new(),
            weight: 1,
            groups: vec![GroupSpec {
                name: GroupName::default(),
                count: ShardCount::new(12).unwrap(),
                hash: "stable".to_owned(),
                role: None,
            }],
        },
        slack: Duration::from_secs(1),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The default times: a silent node is waited for this long.
fn wait() -> Duration {
    LeaseTiming::default().times().wait
}

fn moving(desk: &Desk, from: Incarnation) -> Vec<Handover> {
    let state = desk.coordinator.state();
    let shards = state.groups().flat_map(|group| group.iter());
    let releasing = shards.filter_map(|(shard, ownership)| {
        let Ownership::Releasing { by, epoch, .. } = ownership else {
            return None;
        };
        (by == from).then_some(Handover { shard, epoch })
    });
    releasing.collect()
}
