//! `ostrakon manager`, `ostrakon witness` and the verbs as an operator runs them: the built binary, real nodes, real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "manager/access.rs"]
mod access;
#[path = "manager/folder.rs"]
mod folder;
#[path = "manager/nodes.rs"]
mod nodes;
#[path = "manager/operators.rs"]
mod operators;
#[path = "manager/peers.rs"]
mod peers;
#[path = "manager/probing.rs"]
mod probing;
#[path = "manager/running.rs"]
mod running;
#[path = "manager/settings.rs"]
mod settings;
#[path = "manager/silence.rs"]
mod silence;
#[path = "manager/starting.rs"]
mod starting;
#[path = "manager/witness.rs"]
mod witness;
