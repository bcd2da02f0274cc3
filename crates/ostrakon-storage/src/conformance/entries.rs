//! Entries for tests, and the state that they make.

use ostrakon_core::{
    Command, ControlState, Entry, GroupSpec, Incarnation, Index, Registration, ShardCount, Term,
};
use serde_json::json;

/// A takeover by a manager, which this number tells from others.
pub fn takeover(run: u64) -> Entry {
    let grantor = "manager".parse().unwrap();
    entry(0, Command::Takeover { grantor, run })
}

/// A registration in a term, which this number tells from others.
pub fn register(term: u64, nonce: u64) -> Entry {
    // As an earlier version may have written it, without what later ones have added.
    let registration: Registration = serde_json::from_value(json!({
        "name": format!("node-{nonce}"),
        "address": "127.0.0.1:1",
        "nonce": nonce,
        "version": "1.0.0",
        "roles": [],
        "weight": 1,
        "groups": [],
    }))
    .unwrap();
    entry(term, Command::Register(registration))
}

/// The end of a run in a term.
pub fn expire(term: u64, incarnation: Incarnation) -> Entry {
    entry(term, Command::Expire { incarnation })
}

/// A group in a term; so many of them make a log long.
pub fn group(term: u64, number: u64) -> Entry {
    let spec = GroupSpec {
        name: format!("group-{number}").parse().unwrap(),
        count: ShardCount::default(),
        hash: "xxh3".to_owned(),
        role: None,
    };
    entry(term, Command::CreateGroup(spec))
}

/// What these entries make, the first being at index 1.
pub fn state_of(entries: &[Entry]) -> ControlState {
    let mut state = ControlState::default();
    let mut index = Index::default();
    for entry in entries {
        index = index.next();
        state.apply(index, entry);
    }
    state
}

fn entry(term: u64, command: Command) -> Entry {
    Entry {
        term: Term::new(term),
        command,
    }
}
