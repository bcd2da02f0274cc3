//! The gate that every step of an entity's code passes.
//!
//! Each poll of a handler or hook goes through here: not at all once the entity has been killed, with its panics caught,
//! and with the running entity known to the asks it makes. What must hold before an entity may act belongs here.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use super::cell::Cell;
use crate::{
    Cause, Entity,
    chain::{self, CallSite},
};

/// Why a step of an entity's code did not run to its end.
pub(crate) enum Cut {
    Panicked(Cause),
    Killed,
}

/// What came of a gated future.
pub(crate) struct Gated<T> {
    pub(crate) result: Result<T, Cut>,
    /// Whether it had to wait on the way.
    pub(crate) waited: bool,
}

/// Runs `code`, a part of the entity in `cell`, through the gate.
pub(crate) async fn pass<E: Entity, T>(
    cell: &Cell<E>,
    site: CallSite,
    code: impl Future<Output = T>,
) -> Gated<T> {
    let mut code = pin!(code);
    let mut site = Some(site);
    let mut waited = false;
    let result = std::future::poll_fn(|cx| {
        if cell.is_killed() {
            return Poll::Ready(Err(Cut::Killed));
        }
        let polled = chain::within(&mut site, || {
            catch_unwind(AssertUnwindSafe(|| code.as_mut().poll(cx)))
        });
        match polled {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => {
                waited = true;
                cell.waits(cx.waker());
                // A kill between the look above and now found no waker.
                if cell.is_killed() {
                    return Poll::Ready(Err(Cut::Killed));
                }
                Poll::Pending
            }
            Err(panic) => Poll::Ready(Err(Cut::Panicked(Cause::from_panic(&*panic)))),
        }
    })
    .await;
    Gated { result, waited }
}
