//! `Engine`: drives the coordinator. One task, which never waits for anything but its inputs.

mod carrying_out;

use std::{
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
    time::Duration,
};

use ostrakon_clock::GrantorClock;
use ostrakon_control::{FromManager, FromNode, Mouth, Seat};
use ostrakon_core::{
    AppendOutcome, Beat, ConfirmOutcome, Coordinator, CoordinatorInput, Counted, Entry,
    Incarnation, Index, Liveness, NodeName, Policy, Succession, Term, Time, ToCoordinator,
};
use ostrakon_health::Health;
use ostrakon_storage::{Head, Read, Renewal};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    desk::{Wish, WishError},
    event::Happening,
    keeper::Keeper,
    switchboard::Switchboard,
    view::View,
};

/// How often to give and look for signs of life.
const TICK: Duration = Duration::from_secs(1);
/// Callers are asked every so many ticks whether they are there.
const PING_EVERY: u32 = 5;
/// So many inputs are taken in before what came of them is shown.
const AT_ONCE: usize = 1024;
/// The log is compacted after so many entries.
const COMPACT_AFTER: u64 = 10_000;

/// What has happened.
pub(crate) enum Input {
    Arrived {
        line: u64,
        name: NodeName,
        seat: Seat,
        mouth: Mouth<FromManager>,
    },
    Heard {
        line: u64,
        words: FromNode,
    },
    /// A caller has gone.
    Hung {
        line: u64,
    },
    /// Something may be new in the log.
    LogMoved,
    Read(Read),
    ReadEnded {
        ok: bool,
    },
    AppendEnded {
        id: u64,
        after: Index,
        entries: Vec<Entry>,
        outcome: AppendOutcome,
    },
    Confirmed {
        id: u64,
        outcome: ConfirmOutcome,
    },
    /// How far nodes have counted their leases.
    Leases(Vec<(Incarnation, Renewal)>),
    /// The end of the log, if it could be read.
    Looked(Option<Head>),
    Health {
        incarnation: Incarnation,
        answer: Liveness,
    },
    Wish {
        wish: Wish,
        answer: oneshot::Sender<Result<(), WishError>>,
    },
}

pub(crate) struct EngineParts {
    pub(crate) me: NodeName,
    pub(crate) policy: Policy,
    pub(crate) patience: Duration,
    pub(crate) sole: Sole,
    pub(crate) health: Arc<dyn Health>,
    pub(crate) keeper: Keeper,
    pub(crate) view: Arc<RwLock<View>>,
    pub(crate) inputs: mpsc::Sender<Input>,
    pub(crate) applied: watch::Sender<Index>,
    pub(crate) events: watch::Sender<u64>,
}

/// Whether another manager could use the same storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sole {
    Yes,
    No,
}

pub(crate) struct Engine {
    coordinator: Coordinator,
    clock: GrantorClock,
    succession: Succession,
    switchboard: Switchboard,
    /// The coordinator waits to hear that the log has been read.
    read_is_owed: bool,
    /// The log has been read to its end once.
    has_read: bool,
    leads: Option<Term>,
    beats: u64,
    ticks: u32,
    compacted: Index,
    parts: EngineParts,
}

impl Engine {
    pub(crate) fn new(parts: EngineParts) -> Self {
        let clock = GrantorClock::start();
        let run = fastrand::u64(..);
        // A random part keeps managers from trying to lead at the same moment. Less than two looks would be no patience at all.
        let patience = parts.patience.max(TICK * 2);
        let patience = patience.mul_f64(1.0 + fastrand::f64() / 2.0);
        Self {
            coordinator: Coordinator::new(parts.me.clone(), run),
            succession: Succession::new(patience, clock.now()),
            clock,
            switchboard: Switchboard::default(),
            read_is_owed: false,
            has_read: false,
            leads: None,
            beats: 0,
            ticks: 0,
            compacted: Index::default(),
            parts,
        }
    }

    /// Runs until nobody can reach it any more.
    pub(crate) async fn run(mut self, mut inputs: mpsc::Receiver<Input>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.parts.keeper.read(Index::default());
        loop {
            let pause = self.pause();
            tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => self.take(input),
                    None => return,
                },
                _ = ticks.tick() => self.tick(),
                () = tokio::time::sleep(pause) => self.step(CoordinatorInput::Wake),
            }
            // Not without end: those who speak without pause must not keep it from everything else.
            for _ in 0..AT_ONCE {
                let Ok(input) = inputs.try_recv() else {
                    break;
                };
                self.take(input);
            }
            self.publish();
        }
    }

    fn pause(&self) -> Duration {
        let wake = self.coordinator.next_wakeup();
        wake.map_or(TICK, |wake| wake.saturating_since(self.clock.now()))
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Arrived {
                line,
                name,
                seat,
                mouth,
            } => self.switchboard.arrived(line, name, seat, mouth),
            Input::Heard { line, words } => self.hear(line, words),
            Input::Hung { line } => {
                if let Some(incarnation) = self.switchboard.hung(line) {
                    let unreachable = ToCoordinator::Unreachable { incarnation };
                    self.step(CoordinatorInput::Heard(unreachable));
                }
            }
            Input::LogMoved => self.read_log(),
            Input::Read(read) => self.read(read),
            Input::ReadEnded { ok } => self.read_ended(ok),
            Input::AppendEnded {
                id,
                after,
                entries,
                outcome,
            } => self.append_ended(id, after, entries, outcome),
            Input::Confirmed { id, outcome } => {
                self.step(CoordinatorInput::ConfirmEnded { id, outcome });
            }
            Input::Looked(head) => self.looked(head),
            Input::Leases(leases) => {
                for (incarnation, Renewal { seq, ok_seq }) in leases {
                    let counted = Counted { seq, ok_seq };
                    self.step(CoordinatorInput::Counted {
                        incarnation,
                        counted,
                    });
                }
            }
            Input::Health {
                incarnation,
                answer,
            } => self.step(CoordinatorInput::Health {
                incarnation,
                answer,
            }),
            Input::Wish { wish, answer } => {
                let taken = self.wish(wish);
                // Whoever asked may have gone.
                let _ = answer.send(taken);
            }
        }
    }

    fn hear(&mut self, line: u64, words: FromNode) {
        match words {
            FromNode::Pong => {}
            FromNode::Follow { behind } => self.switchboard.follow(line, behind),
            FromNode::Say(message) => {
                let Some(name) = self.switchboard.node(line) else {
                    tracing::warn!(line, "a client speaks as a node does; it is not heard");
                    return;
                };
                if let ToCoordinator::Register { registration, .. } = &message
                    && registration.name != *name
                {
                    tracing::warn!(%name, claimed = %registration.name, "a node registers under another's name; it is not heard");
                    return;
                }
                if let Some(run) = speaker(&message) {
                    self.switchboard.spoke(line, run);
                }
                self.step_for(Some(line), CoordinatorInput::Heard(message));
            }
        }
    }

    fn read_log(&mut self) {
        let behind = self.coordinator.state().applied();
        self.parts.keeper.read(behind);
    }

    fn read(&mut self, read: Read) {
        if let Some(snapshot) = read.snapshot {
            if let Err(error) = self.view().restore(snapshot.clone()) {
                tracing::error!(%error, "the snapshot in the storage cannot be read");
                return;
            }
            self.compacted = snapshot.applied();
            self.step(CoordinatorInput::Restored(Box::new(snapshot)));
        }
        for (index, entry) in read.entries {
            self.committed(index, entry);
        }
    }

    fn committed(&mut self, index: Index, entry: Entry) {
        self.view().apply(index, &entry);
        self.step(CoordinatorInput::Committed { index, entry });
    }

    fn read_ended(&mut self, ok: bool) {
        let behind = self.coordinator.state().applied();
        if !self.parts.keeper.read_ended(ok, behind) {
            return;
        }
        if std::mem::take(&mut self.read_is_owed) {
            self.step(CoordinatorInput::ReadEnded);
        }
        let first = !std::mem::replace(&mut self.has_read, true);
        // Nobody else can lead: there is no need to wait for a sign of it.
        if first && (self.parts.sole == Sole::Yes || behind == Index::default()) {
            self.step(CoordinatorInput::Lead);
        }
    }

    fn append_ended(&mut self, id: u64, after: Index, entries: Vec<Entry>, outcome: AppendOutcome) {
        if outcome == AppendOutcome::Done {
            for (number, entry) in (after.get() + 1..).zip(entries) {
                self.committed(Index::new(number), entry);
            }
        }
        self.step(CoordinatorInput::AppendEnded { id, outcome });
    }

    fn looked(&mut self, head: Option<Head>) {
        if self.coordinator.leads().is_some() {
            return;
        }
        let now = self.clock.now();
        if let Some(head) = head
            && head.last > self.coordinator.state().applied()
        {
            self.read_log();
        }
        let beat = head.map(|head| Beat {
            term: head.term,
            count: head.beat,
        });
        self.succession.saw(beat, now);
        if self.has_read && self.succession.is_due(now) {
            tracing::info!("no manager seems to lead: trying to");
            self.step(CoordinatorInput::Lead);
        }
    }

    fn tick(&mut self) {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(PING_EVERY) {
            self.switchboard.ping();
        }
        match self.coordinator.leads() {
            Some(term) => {
                self.beats += 1;
                self.parts.keeper.beat(term, self.beats);
                if self.parts.sole == Sole::No && self.has_leases() {
                    self.parts.keeper.look_at_leases();
                }
                self.note_silence();
                self.compact();
            }
            None => self.parts.keeper.look(),
        }
        self.gauge();
    }

    /// Says it when a node is silent that nobody can prove dead.
    fn note_silence(&mut self) {
        let silent = self.coordinator.silent(self.clock.now());
        let mut view = self.view();
        let member = |view: &View, run: Incarnation| {
            let member = view.state().member(run)?;
            Some((member.registration.name.clone(), member.failover))
        };
        for incarnation in view.silent().clone() {
            if !silent.contains(&incarnation) && view.heard(incarnation) {
                let Some((node, _)) = member(&view, incarnation) else {
                    continue;
                };
                view.happened(None, Happening::HeardAgain { node, incarnation });
            }
        }
        for incarnation in silent {
            if !view.fell_silent(incarnation) {
                continue;
            }
            let Some((node, failover)) = member(&view, incarnation) else {
                continue;
            };
            let remedy = match failover.lease() {
                Some(_) => "its shards go to others when its lease has run out".to_owned(),
                None => format!(
                    "its shards stay with it until it is heard or known to be dead: if it is, run `ostrakon nodes confirm-dead {node}`; or let leases run out with failover = \"lease\""
                ),
            };
            tracing::warn!(%node, %incarnation, remedy, "a node is silent");
            view.happened(
                None,
                Happening::Silent {
                    node,
                    incarnation,
                    remedy,
                },
            );
        }
    }

    fn has_leases(&self) -> bool {
        let mut members = self.coordinator.state().members();
        members.any(|(_, member)| member.failover.lease().is_some())
    }

    fn compact(&mut self) {
        let applied = self.coordinator.state().applied();
        if applied.get() - self.compacted.get() >= COMPACT_AFTER {
            self.compacted = applied;
            let snapshot = self.coordinator.state().snapshot();
            self.parts.keeper.compact(snapshot);
        }
    }

    /// What a leader does first: the rules of the cluster become its own.
    fn begin_to_lead(&mut self, term: Term) {
        tracing::info!(%term, "leading");
        if *self.coordinator.state().policy() != self.parts.policy {
            let policy = self.parts.policy.clone();
            let set = ostrakon_core::Command::SetPolicy(policy);
            self.step(CoordinatorInput::Propose(set));
        }
    }

    /// Lets everybody see what has changed.
    fn publish(&mut self) {
        let leads = self.coordinator.leads();
        if leads != self.leads {
            self.leads = leads;
            self.view().set_leads(leads);
            match leads {
                Some(term) => self.begin_to_lead(term),
                None => tracing::info!("another manager leads"),
            }
        }
        let view = self.parts.view.read();
        let view = view.unwrap_or_else(PoisonError::into_inner);
        self.switchboard.tell_news(&view);
        let (applied, next) = (view.state().applied(), view.next_event());
        drop(view);
        self.parts.applied.send_if_modified(|old| {
            let news = *old != applied;
            *old = applied;
            news
        });
        self.parts.events.send_if_modified(|old| {
            let news = *old != next;
            *old = next;
            news
        });
    }

    fn gauge(&self) {
        let state = self.coordinator.state();
        metrics::gauge!("ostrakon_manager_leads")
            .set(f64::from(u8::from(self.coordinator.leads().is_some())));
        metrics::gauge!("ostrakon_manager_nodes").set(state.members().len() as f64);
        metrics::gauge!("ostrakon_manager_callers", "seat" => "node")
            .set(self.switchboard.count(Seat::Node) as f64);
        metrics::gauge!("ostrakon_manager_callers", "seat" => "client")
            .set(self.switchboard.count(Seat::Client) as f64);
        metrics::gauge!("ostrakon_manager_log_index").set(state.applied().get() as f64);
    }

    fn view(&self) -> RwLockWriteGuard<'_, View> {
        let view = self.parts.view.write();
        view.unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.clock.now()
    }
}

/// The run that says something of itself.
fn speaker(message: &ToCoordinator) -> Option<Incarnation> {
    match message {
        ToCoordinator::Renew { incarnation, .. }
        | ToCoordinator::Released { incarnation, .. }
        | ToCoordinator::Leave { incarnation }
        | ToCoordinator::Gone { incarnation } => Some(*incarnation),
        ToCoordinator::Register { .. }
        | ToCoordinator::Unreachable { .. }
        | ToCoordinator::Wanted { .. } => None,
    }
}
