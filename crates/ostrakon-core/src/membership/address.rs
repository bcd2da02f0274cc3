//! `Address`: where a node is reached, such as `10.0.0.1:7000`.
//!
//! The core only compares addresses, letter by letter, and hands them back; it resolves nothing. A node must therefore be
//! written alike everywhere: `localhost:7000` and `127.0.0.1:7000` are two addresses.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// Where a node is reached: 1 to [`MAX_LEN`](Self::MAX_LEN) bytes of visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "SmolStr")]
pub struct Address(SmolStr);

impl Address {
    /// The longest address, in bytes: a host name and a port.
    pub const MAX_LEN: usize = 262;

    /// Checks `text`, and only then copies it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidAddress> {
        let text = text.as_ref();
        if text.is_empty() || text.len() > Self::MAX_LEN {
            return Err(InvalidAddress::Length(text.len()));
        }
        match text.chars().find(|c| !c.is_ascii_graphic()) {
            Some(found) => Err(InvalidAddress::BadCharacter(found)),
            None => Ok(Self(SmolStr::new(text))),
        }
    }

    /// The text, as it was given.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl TryFrom<SmolStr> for Address {
    type Error = InvalidAddress;

    fn try_from(text: SmolStr) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

/// A text that cannot be an address. Trying again will not help: correct the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAddress {
    /// Empty or too long.
    #[error("address has {0} bytes: allowed are 1 to {max}", max = Address::MAX_LEN)]
    Length(usize),
    /// A blank, a control character, or one outside ASCII.
    #[error("address has {0:?}: allowed is visible ascii without spaces")]
    BadCharacter(char),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_visible_ascii_of_bounded_length() {
        for text in ["127.0.0.1:25520", "[::1]:7000", "shop-0.shop.svc:7000"] {
            assert_eq!(Address::new(text).unwrap().as_str(), text);
        }
        assert_eq!(Address::new(""), Err(InvalidAddress::Length(0)));
        assert_eq!(
            Address::new("x".repeat(263)),
            Err(InvalidAddress::Length(263))
        );
        assert_eq!(Address::new("a b"), Err(InvalidAddress::BadCharacter(' ')));
    }

    #[test]
    fn a_decoded_address_passes_the_same_check() {
        let address: Address = serde_json::from_str("\"a:1\"").unwrap();
        assert_eq!(address, Address::new("a:1").unwrap());
        assert!(serde_json::from_str::<Address>("\"a b\"").is_err());
    }
}
