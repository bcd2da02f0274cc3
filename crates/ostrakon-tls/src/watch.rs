//! `watch`: takes renewed certificates into use while the process runs.
//!
//! It looks at the files from time to time and reloads them when they have changed. It never stops and never fails: a
//! bad file is told to the log, once, and the former certificate stays in use. Files are tried again at every look,
//! since one that is not good yet (a clock that lags, a key that is copied a moment later) may become so.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tracing::{error, info};

use crate::{Reloaded, Tls, TlsError};

/// Looks at the files of `tls` as often as `every` says, for as long as it is polled.
///
/// # Panics
///
/// If `every` is zero.
pub async fn watch(tls: Arc<Tls>, every: Duration) {
    let mut looks = interval(every);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = None;
    loop {
        looks.tick().await;
        let looking = Arc::clone(&tls);
        // A file system that hangs must not hold up those who share this thread.
        let Ok(found) = spawn_blocking(move || looking.reload()).await else {
            // The runtime shuts down.
            return;
        };
        told = tell(&tls, found, told);
    }
}

/// Logs what is new since `told`, the trouble that was logged last; returns the trouble there is now.
fn tell(tls: &Tls, found: Result<Reloaded, TlsError>, told: Option<String>) -> Option<String> {
    match found {
        Ok(Reloaded::Same) => None,
        Ok(Reloaded::Changed) => {
            let (identity, expires_at) = (tls.identity(), tls.expires_at());
            info!(%identity, %expires_at, "a new certificate is in use");
            None
        }
        Err(error) => {
            let trouble = error.in_one_line();
            if told.as_ref() != Some(&trouble) {
                error!(error = %trouble, expires_at = %tls.expires_at(), "the former certificate stays in use");
            }
            Some(trouble)
        }
    }
}
