//! `Chaos`: entities that panic on purpose, to show that nobody else notices.
//!
//! They are none of the accounts: a panic loses an entity's memory, and the bank is there to show that nothing is lost.
//! The crew of all of them counts lives and panics; whoever fell must answer again.

use std::{
    panic,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use ostrakon::entity;

use super::teller::Shift;

/// Lets every panic be reported as ever, except those of this module.
pub(crate) fn keep_deliberate_panics_quiet() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.payload().downcast_ref::<&str>() != Some(&ON_PURPOSE) {
            report(panic);
        }
    }));
}

pub(crate) struct Chaos {
    crew: Arc<Crew>,
    /// Which life this is, among those of the whole crew.
    life: u64,
}

#[entity(kind = "chaos")]
impl Chaos {
    pub(crate) fn new(crew: &Arc<Crew>) -> Self {
        Self {
            crew: Arc::clone(crew),
            life: crew.started.fetch_add(1, Relaxed),
        }
    }

    async fn fall(&mut self) {
        self.crew.panics.fetch_add(1, Relaxed);
        panic::panic_any(ON_PURPOSE);
    }

    async fn life(&self) -> u64 {
        self.life
    }
}

impl Drop for Chaos {
    fn drop(&mut self) {
        self.crew.stopped.fetch_add(1, Relaxed);
    }
}

/// All chaos entities, counted together.
#[derive(Default)]
pub(crate) struct Crew {
    started: AtomicU64,
    stopped: AtomicU64,
    panics: AtomicU64,
    restarts: AtomicU64,
}

impl Crew {
    /// Makes one after the other fall until the shift is over, and sees that each lives again.
    pub(crate) async fn disturb(self: Arc<Self>, shift: Arc<Shift>) {
        for n in (0_u64..).take_while(|_| !shift.is_over()) {
            let chaos = shift
                .node()
                .entity::<Chaos>(format!("chaos-{}", n % MEMBERS));
            let before = chaos.life().await;
            if n % 2 == 0 {
                // Nobody waits for a tell, so that its failure becomes a dead letter.
                let _ = chaos.tell().fall().await;
            } else {
                let _ = chaos.fall().await;
            }
            if let (Ok(before), Ok(after)) = (before, chaos.life().await)
                && before != after
            {
                self.restarts.fetch_add(1, Relaxed);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// How many lives have begun.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// How many lives have ended.
    pub(crate) fn stopped(&self) -> u64 {
        self.stopped.load(Relaxed)
    }

    /// How often one of them panicked.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Relaxed)
    }

    /// How often one that had panicked lived again and answered.
    pub(crate) fn restarts(&self) -> u64 {
        self.restarts.load(Relaxed)
    }
}

/// The panics' payload, by which they are told from real ones.
const ON_PURPOSE: &str = "on purpose";

const MEMBERS: u64 = 8;
const PAUSE: Duration = Duration::from_millis(20);
