//! `Known`: how far a handle has heard that the log goes.
//!
//! News come from everywhere: own appends, reads, notifications of the server. They may be lost, so waiting for them ends by itself.

use std::time::Duration;

use ostrakon_core::Index;
use tokio::sync::watch;

/// The last index that is known to be in the log.
#[derive(Debug, Default)]
pub struct Known(watch::Sender<Index>);

impl Known {
    /// The log goes at least so far.
    pub fn hear(&self, last: Index) {
        self.0.send_if_modified(|known| {
            let is_new = last > *known;
            *known = last.max(*known);
            is_new
        });
    }

    /// Until the log is known to go on behind this index, but not longer than `poll`.
    pub async fn changed(&self, behind: Index, poll: Duration) {
        let mut news = self.0.subscribe();
        let heard = news.wait_for(|known| *known > behind);
        // Either way the caller looks for itself: waking early is allowed.
        let _ = tokio::time::timeout(poll, heard).await;
    }
}
