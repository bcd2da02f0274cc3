//! `Profile`: what a node says about itself to all others: roles, version, weight, and a few bytes of the user's.
//!
//! Only its own node changes it. It is small on purpose: every node keeps the profile of every other, and a change is
//! gossiped to all. Every value is within its bounds, wherever it came from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{NodeVersion, RoleName};

/// What a node says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ProfileParts")]
pub struct Profile {
    roles: BTreeSet<RoleName>,
    version: NodeVersion,
    weight: u32,
    metadata: Vec<u8>,
}

impl Profile {
    /// The most roles.
    pub const MAX_ROLES: usize = 16;
    /// The longest version, in bytes.
    pub const MAX_VERSION: usize = 64;
    /// The most metadata, in bytes.
    pub const MAX_METADATA: usize = 256;

    /// With these roles.
    pub fn with_roles(
        mut self,
        roles: impl IntoIterator<Item = RoleName>,
    ) -> Result<Self, InvalidProfile> {
        self.roles = roles.into_iter().collect();
        match self.roles.len() {
            count if count > Self::MAX_ROLES => Err(InvalidProfile::TooManyRoles(count)),
            _ => Ok(self),
        }
    }

    /// With this version of the user's program.
    pub fn with_version(mut self, version: NodeVersion) -> Result<Self, InvalidProfile> {
        self.version = version;
        match self.version.as_str().len() {
            len if len > Self::MAX_VERSION => Err(InvalidProfile::VersionTooLong(len)),
            _ => Ok(self),
        }
    }

    /// With this share of the shards, compared with that of others.
    #[must_use]
    pub const fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// With these bytes, which the core does not read: the newest routing version, for instance.
    pub fn with_metadata(mut self, metadata: impl Into<Vec<u8>>) -> Result<Self, InvalidProfile> {
        self.metadata = metadata.into();
        match self.metadata.len() {
            len if len > Self::MAX_METADATA => Err(InvalidProfile::MetadataTooLong(len)),
            _ => Ok(self),
        }
    }

    /// The roles, in order.
    pub fn roles(&self) -> impl Iterator<Item = &RoleName> {
        self.roles.iter()
    }

    /// The version of the user's program; empty if it was not said.
    pub const fn version(&self) -> &NodeVersion {
        &self.version
    }

    /// The share of the shards.
    pub const fn weight(&self) -> u32 {
        self.weight
    }

    /// The bytes that the core does not read.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Some order, the same everywhere, to choose between two by.
    pub(super) fn rank(&self) -> impl Ord {
        (
            &self.roles,
            self.version.as_str(),
            self.weight,
            &self.metadata,
        )
    }

    /// About how long it is when encoded.
    pub(super) fn encoded_len(&self) -> usize {
        let roles: usize = self.roles.iter().map(|role| role.as_str().len() + 1).sum();
        roles + self.version.as_str().len() + self.metadata.len() + 8
    }
}

/// No roles, no version, no metadata, and a weight of 1.
impl Default for Profile {
    fn default() -> Self {
        Self {
            roles: BTreeSet::new(),
            version: NodeVersion::default(),
            weight: 1,
            metadata: Vec::new(),
        }
    }
}

/// A profile beyond its bounds. Nothing was changed: say less, and try again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProfile {
    /// Too many roles.
    #[error("profile has {0} roles: allowed are {max}", max = Profile::MAX_ROLES)]
    TooManyRoles(usize),
    /// The version is too long.
    #[error("version has {0} bytes: allowed are {max}", max = Profile::MAX_VERSION)]
    VersionTooLong(usize),
    /// Too much metadata.
    #[error("profile has {0} bytes of metadata: allowed are {max}", max = Profile::MAX_METADATA)]
    MetadataTooLong(usize),
}

/// A profile as it comes off the wire, unchecked.
#[derive(Deserialize)]
struct ProfileParts {
    roles: BTreeSet<RoleName>,
    version: NodeVersion,
    weight: u32,
    metadata: Vec<u8>,
}

impl TryFrom<ProfileParts> for Profile {
    type Error = InvalidProfile;

    fn try_from(parts: ProfileParts) -> Result<Self, Self::Error> {
        Self::default()
            .with_weight(parts.weight)
            .with_version(parts.version)?
            .with_metadata(parts.metadata)?
            .with_roles(parts.roles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_it_was_given() {
        let roles = ["b", "a", "b"].map(|role| RoleName::new(role).unwrap());
        let profile = Profile::default()
            .with_roles(roles)
            .unwrap()
            .with_weight(50);
        let profile = profile
            .with_version(NodeVersion::new("1.2"))
            .unwrap()
            .with_metadata([7])
            .unwrap();
        assert_eq!(
            profile.roles().map(RoleName::as_str).collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(profile.version().as_str(), "1.2");
        assert_eq!((profile.weight(), profile.metadata()), (50, &[7][..]));
        let json = serde_json::to_string(&profile).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile);
    }

    #[test]
    fn it_stays_within_its_bounds_even_off_the_wire() {
        let long = "x".repeat(65);
        let roles = (0..17).map(|n| RoleName::new(format!("r{n}")).unwrap());
        let profile = Profile::default;
        assert_eq!(
            profile().with_roles(roles),
            Err(InvalidProfile::TooManyRoles(17))
        );
        assert_eq!(
            profile().with_version(NodeVersion::new(&long)),
            Err(InvalidProfile::VersionTooLong(65))
        );
        assert_eq!(
            profile().with_metadata([0; 257]),
            Err(InvalidProfile::MetadataTooLong(257))
        );
        let json = format!(r#"{{"roles":[],"version":"{long}","weight":1,"metadata":[]}}"#);
        assert!(serde_json::from_str::<Profile>(&json).is_err());
    }
}
