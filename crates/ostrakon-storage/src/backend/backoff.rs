//! `Backoff`: how long to leave a server alone that does not answer.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(5);

/// The pause before the next attempt; each is twice the one before.
#[derive(Clone, Copy, Debug)]
pub struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Backoff {
    /// Pauses.
    pub async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(MOST);
    }

    /// It has answered.
    pub fn reset(&mut self) {
        self.0 = FIRST;
    }
}
