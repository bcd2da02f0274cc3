//! The gate that every step of an entity's code passes.
//!
//! Each poll of a handler or hook goes through here: not at all once the entity has been killed, with its panics caught,
//! and with the running entity known to the asks it makes. After the end of the node's lease nothing passes: what comes waits at the
//! gate until the lease is extended. What must hold before an entity may act belongs here.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use super::{cell::Cell, envelope::Ask, seat::Seat};
use crate::{
    Cause, Entity, TraceContext,
    chain::{self, CallSite},
    lease::Wait,
};

/// Why a step of an entity's code did not run to its end.
pub(crate) enum Cut {
    Panicked(Cause),
    Killed,
}

/// Calls a piece of the user's code that is not async, or makes the future of one that is.
pub(crate) fn call<T>(code: impl FnOnce() -> T) -> Result<T, Cut> {
    Cause::catch(code).map_err(Cut::Panicked)
}

/// The same within a turn of the entity in `cell`.
pub(crate) fn call_of<E: Entity, T>(cell: &Cell<E>, code: impl FnOnce() -> T) -> Result<T, Cut> {
    let _acting = cell.goes_on();
    call(code)
}

/// What came of gated code.
pub(crate) struct Passed<T> {
    pub(crate) result: Result<T, Cut>,
    /// Whether it had to wait on the way.
    pub(crate) waited: bool,
}

impl<T> Passed<T> {
    /// The code did not even begin.
    pub(crate) fn cut(cut: Cut) -> Self {
        Self {
            result: Err(cut),
            waited: false,
        }
    }
}

/// What a piece of code is done for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Serves<'c> {
    /// Somebody who waits for it.
    pub(crate) ask: Option<&'c Ask>,
    pub(crate) trace: Option<&'c Arc<TraceContext>>,
}

pin_project! {
    /// An entity's code on its way through the gate.
    pub(crate) struct Gate<'c, E: Entity, F> {
        seat: &'c Seat<'c, E>,
        serves: Serves<'c>,
        span: tracing::Span,
        waited: bool,
        wait: Wait,
        #[pin]
        code: F,
    }
}

impl<'c, E: Entity, F: Future> Gate<'c, E, F> {
    pub(crate) fn new(
        seat: &'c Seat<'c, E>,
        serves: Serves<'c>,
        span: tracing::Span,
        code: F,
    ) -> Self {
        Self {
            seat,
            serves,
            span,
            waited: false,
            wait: Wait::default(),
            code,
        }
    }
}

impl<E: Entity, F: Future> Future for Gate<'_, E, F> {
    type Output = Passed<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let gate = self.project();
        let over = |result, waited| Poll::Ready(Passed { result, waited });
        let acting = loop {
            if gate.seat.is_killed() {
                return over(Err(Cut::Killed), *gate.waited);
            }
            if let Some(acting) = gate.seat.acts() {
                break acting;
            }
            *gate.waited = true;
            ready!(gate.seat.cell.poll_lasts(gate.wait, cx));
        };
        let site = || CallSite {
            kind: E::KIND,
            id: gate.seat.id.clone(),
            parent: gate.serves.ask.and_then(|ask| ask.chain.clone()),
            deadline: gate.serves.ask.map(|ask| ask.deadline),
            trace: gate.serves.trace.cloned(),
        };
        let polled = gate
            .span
            .in_scope(|| chain::within(site, || call(|| gate.code.poll(cx))));
        drop(acting);
        match polled {
            Ok(Poll::Ready(value)) => over(Ok(value), *gate.waited),
            Err(cut) => over(Err(cut), *gate.waited),
            Ok(Poll::Pending) => {
                *gate.waited = true;
                gate.seat.cell.waits(cx.waker());
                // A kill between the look above and now found no waker.
                if gate.seat.is_killed() {
                    return over(Err(Cut::Killed), true);
                }
                Poll::Pending
            }
        }
    }
}
