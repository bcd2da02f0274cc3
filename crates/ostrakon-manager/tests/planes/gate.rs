//! `Gate`: where an entity and its test wait for each other. Entities know it by its name, for they get nothing else of their test.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

const SOON: Duration = Duration::from_secs(20);

static GATES: Mutex<BTreeMap<String, Arc<Gate>>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
pub(crate) struct Gate(watch::Sender<State>);

#[derive(Default)]
struct State {
    knocks: u32,
    open: bool,
}

impl Gate {
    /// One that nobody else has, and its name.
    pub(crate) fn new() -> (Arc<Self>, String) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("gate-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        (Self::of(&name), name)
    }

    pub(crate) fn of(name: &str) -> Arc<Self> {
        let mut gates = GATES.lock().unwrap();
        Arc::clone(gates.entry(name.to_owned()).or_default())
    }

    pub(crate) fn knock(&self) {
        self.0.send_modify(|state| state.knocks += 1);
    }

    pub(crate) fn knocks(&self) -> u32 {
        self.0.borrow().knocks
    }

    pub(crate) fn open(&self) {
        self.0.send_modify(|state| state.open = true);
    }

    /// Waits until it is open, however long that takes.
    pub(crate) async fn opened(&self) {
        self.until(|state| state.open).await;
    }

    /// Waits until there was this much knocking, or fails.
    pub(crate) async fn knocked(&self, times: u32) {
        let knocked = timeout(SOON, self.until(|state| state.knocks >= times)).await;
        assert!(knocked.is_ok(), "{} knocks of {times}", self.knocks());
    }

    async fn until(&self, wanted: impl FnMut(&State) -> bool) {
        let mut states = self.0.subscribe();
        let _ = states.wait_for(wanted).await;
    }
}
