//! Ostrakon's ownership rules under every fault that a seed can think of.
//!
//! One seed decides everything: the cluster, its clocks, which messages are lost, who crashes when, and what clients ask. The real
//! `Coordinator`, `Region` and `Topology` of `ostrakon-core` run inside, on a simulated clock, network and log, and an oracle that sees it all
//! checks at every step what must never be wrong. Then the faults stop, and all must be well in time.
//!
//! A checker is only as good as what it catches, so every rule can be left out ([`MUTANTS`]).

mod agenda;
mod campaign;
mod clock;
mod dice;
mod event;
mod fault;
mod gossiper;
mod hosted;
mod invariant;
mod lane;
mod log;
mod log_request;
mod manager;
mod mutant;
mod network;
mod node;
mod oracle;
mod ran;
mod setup;
mod site;
mod storage;
mod tally;
mod trace;
mod violation;
mod voters;
mod world;

pub use self::{
    agenda::{MILLI, Moment, SECOND},
    campaign::{Campaign, Totals},
    dice::Dice,
    mutant::{MUTANTS, Mutant},
    ran::Ran,
    setup::Plane,
    tally::Tally,
    trace::Writing,
    violation::Violation,
    world::run,
};
