//! `LeaseKeys`: the times of leases.

use clap::Args;
use serde::Deserialize;

use super::choices::Profile;
use crate::span::Span;

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
