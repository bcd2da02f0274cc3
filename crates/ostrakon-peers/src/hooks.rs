//! `Hooks`: who listens to callers and who answers calls; nobody, until somebody says so.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use ostrakon_control::Caller;
use ostrakon_core::NodeName;
use tokio::sync::watch;

pub(crate) type OnCaller = Arc<dyn Fn(Caller) + Send + Sync>;
pub(crate) type OnCall =
    Arc<dyn Fn(NodeName, Vec<u8>) -> Pin<Box<dyn Future<Output = Vec<u8>> + Send>> + Send + Sync>;

#[derive(Default)]
pub(crate) struct Hooks {
    on_caller: RwLock<Option<OnCaller>>,
    on_call: watch::Sender<Option<OnCall>>,
}

impl Hooks {
    pub(crate) fn set_on_caller(&self, hook: OnCaller) {
        *self
            .on_caller
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(hook);
    }

    pub(crate) fn set_on_call(&self, hook: OnCall) {
        self.on_call.send_replace(Some(hook));
    }

    pub(crate) fn on_caller(&self) -> Option<OnCaller> {
        self.on_caller
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Who answers calls, for whom a peer that is just starting may have to be waited for.
    pub(crate) async fn on_call(&self, within: Duration) -> Option<OnCall> {
        let mut hook = self.on_call.subscribe();
        let there = tokio::time::timeout(within, hook.wait_for(Option::is_some)).await;
        there.ok()?.ok()?.clone()
    }
}
