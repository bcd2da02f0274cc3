//! At most once: no message is handled twice.

use super::Checked;

#[derive(Default)]
pub(crate) struct AtMostOnce {
    /// By message.
    handled: Vec<bool>,
}

impl AtMostOnce {
    pub(crate) fn sent(&mut self) {
        self.handled.push(false);
    }

    pub(crate) fn was_handled(&self, message: usize) -> bool {
        self.handled[message]
    }

    pub(crate) fn handled(&mut self, message: usize) -> Checked {
        match std::mem::replace(&mut self.handled[message], true) {
            true => Err(format!("message {message} is handled twice")),
            false => Ok(()),
        }
    }
}
