//! `Office`: what everybody who answers requests works with.

use std::{sync::Arc, time::Duration};

use ostrakon_manager::View;
use tokio::sync::Semaphore;

use crate::{Token, front::Front, settings::Render};

/// What everybody who answers requests works with.
pub(crate) struct Office {
    pub(crate) front: Front,
    pub(crate) cluster: String,
    pub(crate) manager: String,
    pub(crate) token: Option<Token>,
    pub(crate) metrics: Option<Render>,
    /// Places for requests that are being answered.
    pub(crate) requests: Semaphore,
    /// Places for those who follow events.
    pub(crate) streams: Arc<Semaphore>,
    /// How long an answer may take.
    pub(crate) answer_within: Duration,
    /// Tells this manager's count of events from that of any other run.
    pub(crate) run: u64,
}

impl Office {
    /// Looks at the cluster. The manager waits meanwhile: gather what is needed, and put it into words later.
    pub(crate) fn look<T>(&self, gather: impl FnOnce(&View) -> T) -> T {
        gather(&self.front.desk().view())
    }
}
