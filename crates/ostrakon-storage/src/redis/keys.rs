//! `Keys`: the names under which a cluster's log lies.

use redis::ScriptInvocation;

/// The braces make a Redis cluster put all of them on one server.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Hash: `format`, `last`, `term`, `beat`, and `base`, the last index of the snapshot.
    pub(super) head: String,
    /// List: the entries behind `base`, as JSON.
    pub(super) log: String,
    /// String: the snapshot, as JSON.
    pub(super) snapshot: String,
    /// Hash: by incarnation, `SEQ OK_SEQ`.
    pub(super) leases: String,
    /// Channel: the last index, when it has changed.
    pub(super) channel: String,
}

impl Keys {
    pub(super) fn of(cluster: &str) -> Self {
        let key = |what| format!("ostrakon:{{{cluster}}}:{what}");
        Self {
            head: key("head"),
            log: key("log"),
            snapshot: key("snapshot"),
            leases: key("leases"),
            channel: key("changed"),
        }
    }

    /// Every script gets all of them, in this order.
    pub(super) fn name<'a>(&self, script: &mut ScriptInvocation<'a>) {
        for key in [&self.head, &self.log, &self.snapshot, &self.leases] {
            script.key(key);
        }
    }
}
