//! `Attendant`: listens to callers that have been greeted.
//!
//! By whom they were greeted, and where, is not its business. What they say goes to the engine, except what is only for people, which goes to
//! the board; whoever says what only somebody else may say is hung up on.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ostrakon_control::{Caller, Conversation, Ended, FrameError, FromManager, FromNode, Seat};
use ostrakon_core::{NodeName, ToCoordinator};
use tokio::sync::mpsc;

use crate::{board::Board, engine::Input, view::View};

/// How long a caller may be silent; it is asked much more often whether it is there.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Attendant {
    next_line: AtomicU64,
    inputs: mpsc::Sender<Input>,
    /// Who is registered.
    view: Arc<RwLock<View>>,
    board: Arc<Board>,
}

impl Attendant {
    pub(crate) fn new(
        inputs: mpsc::Sender<Input>,
        view: Arc<RwLock<View>>,
        board: Arc<Board>,
    ) -> Self {
        Self {
            next_line: AtomicU64::new(1),
            inputs,
            view,
            board,
        }
    }

    /// Resolves when nobody wants to hear of callers any more.
    pub(crate) async fn closed(&self) {
        self.inputs.closed().await;
    }

    /// Listens to a caller until it goes.
    pub(crate) async fn attend(&self, caller: Caller) {
        let line = self.next_line.fetch_add(1, Ordering::Relaxed);
        let (name, seat) = (caller.name, caller.seat);
        let (conversation, mouth) = Conversation::<FromManager>::new(caller.wire);
        let arrived = Input::Arrived {
            line,
            name: name.clone(),
            seat,
            mouth,
        };
        if self.inputs.send(arrived).await.is_err() {
            return;
        }
        tracing::info!(%name, "a caller has connected");
        let heard = |words: FromNode| {
            self.may_say(&name, seat, &words)?;
            let words = match words {
                FromNode::Vitals(vitals) => {
                    self.board.note(line, &name, vitals);
                    // To the engine it is a sign of life like any other.
                    FromNode::Pong
                }
                FromNode::Say(_) | FromNode::Follow { .. } | FromNode::Pong => words,
            };
            Ok(Input::Heard { line, words })
        };
        let ended = conversation.run(PATIENCE, &self.inputs, heard).await;
        self.board.forget(line);
        if matches!(&ended, Ended::Closed | Ended::Frame(FrameError::Broken(_))) {
            tracing::info!(%name, reason = %ended, "a caller has gone");
        } else {
            metrics::counter!("ostrakon_manager_callers_hung_up_total").increment(1);
            tracing::warn!(%name, reason = %ended, "a caller is hung up on");
        }
        // The engine may be gone.
        let _ = self.inputs.send(Input::Hung { line }).await;
    }

    /// Whether a caller may say this; else why not.
    fn may_say(&self, name: &NodeName, seat: Seat, words: &FromNode) -> Result<(), String> {
        let message = match words {
            FromNode::Say(message) => message,
            FromNode::Vitals(_) if seat != Seat::Node => {
                return Err("a client speaks as a node does".to_owned());
            }
            FromNode::Vitals(vitals) if !vitals.is_bounded() => {
                return Err("it names more of what is hot than it may".to_owned());
            }
            FromNode::Vitals(_) | FromNode::Follow { .. } | FromNode::Pong => return Ok(()),
        };
        // Whoever sends messages may want a shard to have an owner.
        if seat != Seat::Node && !matches!(message, ToCoordinator::Wanted { .. }) {
            return Err("a client speaks as a node does".to_owned());
        }
        let run = match message {
            ToCoordinator::Register { registration, .. } if registration.name != *name => {
                let claimed = &registration.name;
                return Err(format!("it registers under another's name, `{claimed}`"));
            }
            ToCoordinator::Renew { incarnation, .. }
            | ToCoordinator::Released { incarnation, .. }
            | ToCoordinator::Leave { incarnation }
            | ToCoordinator::Gone { incarnation } => *incarnation,
            ToCoordinator::Register { .. }
            | ToCoordinator::Unreachable { .. }
            | ToCoordinator::Wanted { .. } => return Ok(()),
        };
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        match view.state().member(run) {
            Some(member) if member.registration.name != *name => {
                let owner = &member.registration.name;
                Err(format!("it speaks for run {run}, which is of `{owner}`"))
            }
            // One that is not known here, perhaps not yet, has nothing to lose.
            Some(_) | None => Ok(()),
        }
    }
}
