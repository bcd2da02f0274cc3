//! Two sides over a real connection: who does not fit, does not listen, does not stop, or says what nobody understands.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod greetings;
mod peers;
mod talking;
