//! `Badge`: what a peer says in gossip about its part in the consensus.

use ostrakon_core::Profile;

/// What a peer says about its part in the consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Badge {
    /// The id of its log.
    pub(crate) voice: u64,
    pub(crate) duty: Duty,
}

/// What a peer is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// It hosts entities.
    Host,
    /// Its vote, and nothing else.
    Witness,
}

const LENGTH: usize = 9;

impl Badge {
    /// The badge in a profile, if there is one.
    pub(crate) fn of(profile: &Profile) -> Option<Self> {
        let bytes: [u8; LENGTH] = profile.metadata().try_into().ok()?;
        let (duty, voice) = bytes.split_first()?;
        Some(Self {
            voice: u64::from_be_bytes(voice.try_into().ok()?),
            duty: match duty {
                0 => Duty::Host,
                _ => Duty::Witness,
            },
        })
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let duty = match self.duty {
            Duty::Host => 0,
            Duty::Witness => 1,
        };
        let mut bytes = vec![duty];
        bytes.extend_from_slice(&self.voice.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_is_read_as_it_was_written() {
        for duty in [Duty::Host, Duty::Witness] {
            let badge = Badge { voice: 77, duty };
            let profile = Profile::default().with_metadata(badge.to_bytes()).unwrap();
            assert_eq!(Badge::of(&profile), Some(badge));
        }
    }

    #[test]
    fn what_is_no_badge_is_none() {
        for bytes in [&[][..], &[1; 8], &[1; 10]] {
            let profile = Profile::default().with_metadata(bytes).unwrap();
            assert_eq!(Badge::of(&profile), None);
        }
    }
}
