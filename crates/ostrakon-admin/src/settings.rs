//! `AdminSettings`: where the admin API is, and who may change things through it.

use std::{fmt, sync::Arc, time::Duration};

use ostrakon_tls::Security;

use crate::Token;

/// Puts all metrics of the process into the text format of Prometheus.
pub type Render = Arc<dyn Fn() -> String + Send + Sync>;

/// How an admin API runs.
#[derive(Clone)]
pub struct AdminSettings {
    /// Where it listens. Without TLS only loopback addresses are taken.
    pub listen: String,
    /// The cluster that it shows.
    pub cluster: String,
    /// What the manager or the peer is called.
    pub manager: String,
    /// Who sends it may change things.
    pub token: Option<Token>,
    /// How connections are protected. With certificates, an admin's lets its owner change things.
    pub security: Security,
    /// What `/metrics` answers.
    pub metrics: Option<Render>,
    /// How many connections there may be.
    pub connections: usize,
    /// How many requests may be answered at once.
    pub requests: usize,
    /// How many may follow events at once.
    pub streams: usize,
    /// How long a caller may take for the head of a request, and be idle between two.
    pub head_within: Duration,
    /// How long an answer may take, the body of its request included. Streams take as long as they like once they have begun.
    pub answer_within: Duration,
}

/// On a free loopback port; nobody may change anything.
impl Default for AdminSettings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            cluster: "ostrakon".to_owned(),
            manager: "manager".to_owned(),
            token: None,
            security: Security::plaintext(),
            metrics: None,
            connections: 256,
            requests: 64,
            streams: 64,
            head_within: Duration::from_secs(10),
            answer_within: Duration::from_secs(10),
        }
    }
}

impl fmt::Debug for AdminSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminSettings")
            .field("listen", &self.listen)
            .field("manager", &self.manager)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
