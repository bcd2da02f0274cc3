//! `Role`: what kind of participant a certificate stands for.
//!
//! The authority decides it when it signs, so nobody can claim a role. What a role may do is for those who accept
//! connections to say.

use std::fmt;

/// What kind of participant a certificate stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A process that hosts entities. The only one whose certificate can serve connections.
    Node,
    /// A process that talks to entities and hosts none.
    Client,
    /// An operator or a tool that looks after the cluster.
    Admin,
}

impl Role {
    /// How the role is written: `node`, `client` or `admin`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Client => "client",
            Self::Admin => "admin",
        }
    }

    pub(crate) fn named(text: &str) -> Option<Self> {
        [Self::Node, Self::Client, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
