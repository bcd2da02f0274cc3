//! `Role`: what kind of participant a certificate stands for.
//!
//! The authority decides it when it signs, so nobody can claim a role. What a role may do is for those who accept
//! connections to say.

use std::fmt;

/// What kind of participant a certificate stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A process that hosts entities. It serves connections and opens them.
    Node,
    /// A process that decides which node owns what. It serves connections and opens them.
    Manager,
    /// A process that talks to entities and hosts none.
    Client,
    /// An operator or a tool that looks after the cluster.
    Admin,
}

impl Role {
    /// How the role is written: `node`, `manager`, `client` or `admin`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Manager => "manager",
            Self::Client => "client",
            Self::Admin => "admin",
        }
    }

    /// Whether others connect to such a participant.
    pub(crate) fn serves(self) -> bool {
        match self {
            Self::Node | Self::Manager => true,
            Self::Client | Self::Admin => false,
        }
    }

    pub(crate) fn named(text: &str) -> Option<Self> {
        [Self::Node, Self::Manager, Self::Client, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
