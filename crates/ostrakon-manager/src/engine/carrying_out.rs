//! What the engine does when the coordinator, or an operator, wants something.

use std::{sync::Arc, time::Duration};

use ostrakon_control::FromManager;
use ostrakon_core::{
    Command, CoordinatorAction, CoordinatorInput, Counted, DeathProof, Entry, Incarnation,
    Liveness, NodeName, PlannedMove, Policy, Rebalancing,
};
use ostrakon_storage::Renewal;

use super::{Engine, Input};
use crate::desk::{Wish, WishError};

/// How long finding out about a node's health may take.
const PROBE: Duration = Duration::from_secs(5);

impl Engine {
    pub(super) fn step(&mut self, input: CoordinatorInput) {
        self.step_for(None, input);
    }

    /// Steps the coordinator, and does what it wants; `line` is where the input came from.
    pub(super) fn step_for(&mut self, line: Option<u64>, input: CoordinatorInput) {
        for action in self.coordinator.step(self.now(), input) {
            match action {
                CoordinatorAction::Append { id, after, entries } => {
                    let unmoved = self.unmoved(&entries);
                    self.parts.keeper.append(id, after, entries, unmoved);
                }
                CoordinatorAction::Read => {
                    self.read_is_owed = true;
                    self.read_log();
                }
                CoordinatorAction::Confirm { id } => self.confirm(id),
                CoordinatorAction::Send { to, message } => {
                    let words = FromManager::Say(message);
                    self.switchboard.say_to(&to.name, &words);
                }
                CoordinatorAction::SendToRun { message, .. } => {
                    if let Some(line) = line {
                        self.switchboard.say(line, FromManager::Say(message));
                    }
                }
                CoordinatorAction::Probe { incarnation } => self.probe(incarnation),
            }
        }
        // What operators have said about balancing is in the log alone: the settings of a manager that begins to lead do not undo it.
        self.parts.policy.rebalancing = self.coordinator.state().policy().rebalancing;
    }

    /// How far those have counted their leases whom these entries would expire, where they may count.
    fn unmoved(&self, entries: &[Entry]) -> Vec<(Incarnation, Renewal)> {
        if !self.parts.leading.shares_leases() {
            return Vec::new();
        }
        let unmoved = self.coordinator.unmoved(entries).into_iter();
        let renewal = |(run, Counted { seq, ok_seq })| (run, Renewal { seq, ok_seq });
        unmoved.map(renewal).collect()
    }

    fn confirm(&mut self, id: u64) {
        if let Some(term) = self.coordinator.leads() {
            self.parts.keeper.confirm(id, term);
        }
    }

    fn probe(&self, incarnation: Incarnation) {
        let member = self.coordinator.state().member(incarnation);
        let Some(registration) = member.map(|member| member.registration.clone()) else {
            return;
        };
        let (health, inputs) = (Arc::clone(&self.parts.health), self.parts.inputs.clone());
        tokio::spawn(async move {
            let probing = health.probe(&registration);
            let probed = tokio::time::timeout(PROBE, probing).await;
            let answer = probed.unwrap_or(Liveness::Unknown);
            tracing::info!(node = %registration.name, %incarnation, ?answer, by = health.name(), "health");
            let health = Input::Health {
                incarnation,
                answer,
            };
            let _ = inputs.send(health).await;
        });
    }

    pub(super) fn wish(&mut self, wish: Wish) -> Result<(), WishError> {
        if let Wish::ConfirmDead { node, .. } = &wish
            && self.forget_ahead(node)?
            && (self.coordinator.leads().is_none() || self.runs_of(node).is_err())
        {
            return Ok(());
        }
        self.must_lead()?;
        let policy = self.coordinator.state().policy().clone();
        let command = match wish {
            Wish::Drain { node } => return self.drain(&node),
            Wish::ConfirmDead { node, word } => self.confirm_dead(&node, word)?,
            Wish::Rebalance if policy.rebalancing == Rebalancing::Frozen => {
                return Err(WishError::Frozen);
            }
            Wish::Rebalance => {
                self.step(CoordinatorInput::Rebalance);
                return Ok(());
            }
            Wish::SetPolicy(wanted) => {
                let rebalancing = policy.rebalancing;
                let policy = Policy {
                    rebalancing,
                    ..*wanted
                };
                self.parts.policy = policy.clone();
                Command::SetPolicy(policy)
            }
            Wish::SetRebalancing(rebalancing) if rebalancing == policy.rebalancing => return Ok(()),
            Wish::SetRebalancing(rebalancing) => Command::SetPolicy(Policy {
                rebalancing,
                ..policy
            }),
        };
        self.step(CoordinatorInput::Propose(command));
        Ok(())
    }

    /// What a round of balancing would do now.
    pub(super) fn plan(&self) -> Result<Vec<PlannedMove>, WishError> {
        self.must_lead()?;
        Ok(self.coordinator.plan_round(self.now()))
    }

    fn must_lead(&self) -> Result<(), WishError> {
        if self.coordinator.leads().is_some() {
            return Ok(());
        }
        let leader = self.coordinator.state().grantor().cloned();
        Err(WishError::NotLeading { leader })
    }

    /// Every run of the node shall go.
    fn drain(&mut self, node: &NodeName) -> Result<(), WishError> {
        let runs = self.runs_of(node)?;
        for incarnation in runs {
            self.step(CoordinatorInput::Propose(Command::Leave { incarnation }));
        }
        Ok(())
    }

    /// The oldest silent run of the node is dead. One that is heard is not, whatever anybody says.
    fn confirm_dead(&self, node: &NodeName, word: String) -> Result<Command, WishError> {
        let runs = self.runs_of(node)?;
        let silent = self.coordinator.silent(self.now());
        let incarnation = runs.into_iter().find(|run| silent.contains(run));
        let node = node.clone();
        let incarnation = incarnation.ok_or(WishError::IsHeard { node })?;
        let proof = DeathProof::Operator(word);
        Ok(Command::ConfirmDead { incarnation, proof })
    }

    /// The runs of a node, the oldest first.
    fn runs_of(&self, node: &NodeName) -> Result<Vec<Incarnation>, WishError> {
        let members = self.coordinator.state().members();
        let runs = members.filter(|(_, member)| member.registration.name == *node);
        let runs: Vec<_> = runs.map(|(incarnation, _)| incarnation).collect();
        if runs.is_empty() {
            let node = node.clone();
            return Err(WishError::NoSuchNode { node });
        }
        Ok(runs)
    }
}
