//! The timekeeper: a thread that wakes what waits for a time, so that no thread that waits for messages needs a timer.
//!
//! Whoever waits for a message *or* for a time has to set a timer in the kernel whenever they go to sleep, and to take it back when a message
//! comes: on a quiet link that costs about as much as decoding the message
//! ([decision 021](../../../docs/decisions/021-timers-apart.md)). Links and janitors always wait for some time or other, which is far away and hardly
//! ever comes first. So their timers belong to a runtime of its own, on one thread for the whole process, and wake their tasks from there.

use std::{future, io, sync::OnceLock, thread};

use tokio::runtime::{Builder, Handle};

/// The runtime that keeps the time. `None`: there is no thread for it, so everybody has to do it for themselves.
pub(crate) fn timekeeper() -> Option<&'static Handle> {
    static KEEPER: OnceLock<Option<Handle>> = OnceLock::new();
    let started = || {
        start()
            .inspect_err(|error| tracing::warn!(%error, "no thread for timers"))
            .ok()
    };
    KEEPER.get_or_init(started).as_ref()
}

fn start() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("ostrakon-timers".to_owned())
        .spawn(move || runtime.block_on(future::pending::<()>()))?;
    Ok(handle)
}
