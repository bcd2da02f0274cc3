//! `Office`: what everybody who answers requests works with.

use std::{collections::BTreeMap, sync::Arc};

use ostrakon::Node;
use tokio::sync::Semaphore;

use crate::{
    Token,
    kind::{Kind, Method},
    problem::Problem,
    settings::GatewaySettings,
};

pub(crate) struct Office {
    pub(crate) node: Node,
    pub(crate) token: Token,
    pub(crate) kinds: BTreeMap<&'static str, Kind>,
    pub(crate) settings: GatewaySettings,
    /// Places for calls that are under way.
    pub(crate) requests: Semaphore,
    /// Places for streams.
    pub(crate) streams: Arc<Semaphore>,
}

impl Office {
    pub(crate) fn new(
        node: Node,
        token: Token,
        kinds: BTreeMap<&'static str, Kind>,
        settings: GatewaySettings,
    ) -> Arc<Self> {
        Arc::new(Self {
            node,
            token,
            kinds,
            requests: Semaphore::new(settings.requests),
            streams: Arc::new(Semaphore::new(settings.streams)),
            settings,
        })
    }

    /// The method that was asked for, if it is exposed.
    pub(crate) fn find(&self, kind: &str, method: &str) -> Result<(&Kind, &Method), Problem> {
        let Some(found) = self.kinds.get(kind) else {
            let known: Vec<&str> = self.kinds.keys().copied().collect();
            let error = format!("there is no kind `{kind}` here");
            let remedy = format!("choose one of: {}", known.join(", "));
            return Err(Problem::not_found(error, remedy));
        };
        found
            .method(method)
            .map(|method| (found, method))
            .ok_or_else(|| {
                let error = format!("`{kind}` has no method `{method}` here");
                Problem::not_found(error, format!("choose one of: {}", found.known()))
            })
    }
}
