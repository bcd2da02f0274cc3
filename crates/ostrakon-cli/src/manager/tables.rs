//! The tables of the file: `[lease]`, `[tls]` and `[admin]`.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::{choices::Profile, span::Span};

/// The table `[lease]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LeaseKeys {
    /// The times of leases, as a whole
    #[arg(
        long = "lease-profile",
        value_name = "PROFILE",
        env = "OSTRAKON_LEASE_PROFILE"
    )]
    pub(crate) profile: Option<Profile>,
    /// How often a node renews
    #[arg(
        long = "lease-renew",
        value_name = "TIME",
        env = "OSTRAKON_LEASE_RENEW"
    )]
    pub(crate) renew: Option<Span>,
    /// How long a node acts after a renewal
    #[arg(long = "lease-hold", value_name = "TIME", env = "OSTRAKON_LEASE_HOLD")]
    pub(crate) hold: Option<Span>,
    /// How long code of a node may run on after that
    #[arg(
        long = "lease-slack",
        value_name = "TIME",
        env = "OSTRAKON_LEASE_SLACK"
    )]
    pub(crate) slack: Option<Span>,
    /// How long others wait for a silent node
    #[arg(long = "lease-wait", value_name = "TIME", env = "OSTRAKON_LEASE_WAIT")]
    pub(crate) wait: Option<Span>,
    /// How wrong clocks may be, in thousandths
    #[arg(
        long = "lease-drift-permille",
        value_name = "N",
        env = "OSTRAKON_LEASE_DRIFT_PERMILLE"
    )]
    pub(crate) drift_permille: Option<u16>,
}

/// The table `[tls]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TlsKeys {
    /// The folder where `ostrakon certs` has put ca.pem, NAME.pem and NAME.key
    #[arg(long = "tls-dir", value_name = "DIR", env = "OSTRAKON_TLS_DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The authority, if it is elsewhere
    #[arg(long = "tls-ca", value_name = "FILE", env = "OSTRAKON_TLS_CA")]
    pub(crate) ca: Option<PathBuf>,
    /// The certificate, if it is elsewhere
    #[arg(
        long = "tls-certificate",
        value_name = "FILE",
        env = "OSTRAKON_TLS_CERTIFICATE"
    )]
    pub(crate) certificate: Option<PathBuf>,
    /// Its key, if it is elsewhere
    #[arg(long = "tls-key", value_name = "FILE", env = "OSTRAKON_TLS_KEY")]
    pub(crate) key: Option<PathBuf>,
}

/// The table `[admin]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AdminKeys {
    /// Where the admin API is
    #[arg(
        id = "admin_listen",
        long = "admin-listen",
        value_name = "HOST:PORT",
        env = "OSTRAKON_ADMIN_LISTEN"
    )]
    pub(crate) listen: Option<String>,
    /// The file with the token that lets its bearer change things; or set OSTRAKON_ADMIN_TOKEN
    #[arg(
        long = "admin-token-file",
        value_name = "FILE",
        env = "OSTRAKON_ADMIN_TOKEN_FILE"
    )]
    pub(crate) token_file: Option<PathBuf>,
}

impl LeaseKeys {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            profile: self.profile.or(other.profile),
            renew: self.renew.or(other.renew),
            hold: self.hold.or(other.hold),
            slack: self.slack.or(other.slack),
            wait: self.wait.or(other.wait),
            drift_permille: self.drift_permille.or(other.drift_permille),
        }
    }
}

impl TlsKeys {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            dir: self.dir.or(other.dir),
            ca: self.ca.or(other.ca),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
        }
    }
}

impl AdminKeys {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            token_file: self.token_file.or(other.token_file),
        }
    }
}
