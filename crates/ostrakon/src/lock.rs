//! A mutex that does not care about poison.
//!
//! It is the standard one: it spins without giving up its time slice, which for our very short sections is worth much when two
//! threads meet (see `docs/decisions/005-the-standard-mutex.md`). No user code runs under any of our locks, so a panic
//! cannot leave half-done work behind, and poison would only turn one failure into many.

use std::sync::{MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
