//! `Settings`: how the one node of this process takes part in a cluster with managers, read from the environment. Nothing of the service
//! itself is here.
//!
//! | variable | |
//! |---|---|
//! | `MANAGERS` | where the managers are, `host:port` each, separated by commas |
//! | `POD_NAME` | the node's name |
//! | `ROLE` | `node`, or `client` for one that serves and hosts no counters |
//! | `CLUSTER` | the cluster's name |
//! | `VERSION` | of this program, for rolling updates |
//! | `HTTP_LISTEN` | where the service is |
//! | `NODE_LISTEN`, `NODE_ADVERTISE` | where other nodes reach this one, and what they are told to dial |
//! | `TLS_CA`, `TLS_CERTIFICATE`, `TLS_KEY` | three files; without them everybody is on this host |

use std::env;

use anyhow::{Context, bail};
use ostrakon::{Managed, Security};
use ostrakon_tls::Files;

/// How the node of this process takes part in a cluster.
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) http: String,
    pub(crate) managed: Managed,
}

/// What a node is for.
pub(crate) enum Role {
    Node,
    Client,
}

impl Settings {
    /// `None` if the environment names no managers.
    pub(crate) fn from_environment() -> anyhow::Result<Option<Self>> {
        let Some(managers) = said("MANAGERS") else {
            return Ok(None);
        };
        Ok(Some(Self {
            name: said("POD_NAME").context("POD_NAME is missing: it is the node's name")?,
            role: match said("ROLE").as_deref() {
                None | Some("node") => Role::Node,
                Some("client") => Role::Client,
                Some(other) => bail!("ROLE: {other:?} is neither node nor client"),
            },
            http: said("HTTP_LISTEN").unwrap_or_else(|| "127.0.0.1:8080".to_owned()),
            managed: managed(&managers)?,
        }))
    }
}

fn managed(managers: &str) -> anyhow::Result<Managed> {
    let mut managed = Managed::by(managers.split(',')).security(security()?);
    if let Some(cluster) = said("CLUSTER") {
        managed = managed.cluster(cluster);
    }
    if let Some(version) = said("VERSION") {
        managed = managed.version(version);
    }
    if let Some(address) = said("NODE_LISTEN") {
        managed = managed.listen(address);
    }
    if let Some(address) = said("NODE_ADVERTISE") {
        managed = managed.advertise(address);
    }
    Ok(managed)
}

fn security() -> anyhow::Result<Security> {
    match (said("TLS_CA"), said("TLS_CERTIFICATE"), said("TLS_KEY")) {
        (None, None, None) => Ok(Security::plaintext()),
        (Some(ca), Some(certificate), Some(key)) => Ok(Security::tls(Files {
            ca: ca.into(),
            certificate: certificate.into(),
            key: key.into(),
        })?),
        _ => bail!("TLS_CA, TLS_CERTIFICATE and TLS_KEY belong together: one is missing"),
    }
}

fn said(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}
