//! `Apart`: something that shares no line of the processor's cache with anything else.
//!
//! A line that one core writes has to be fetched again by every other one that reads anything on it, which takes longer than to handle a
//! message. So what many write stands apart from what many read ([decision 028](../../../docs/decisions/028-lines-of-their-own.md)).

use std::ops::Deref;

#[repr(align(64))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
