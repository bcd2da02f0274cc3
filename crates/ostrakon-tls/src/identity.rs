//! `Identity`: who a certificate stands for, such as `ostrakon://prod/node/node-1`.
//!
//! Every value is valid, wherever it came from. Whatever `NodeName` allows is allowed as a name here; characters that a
//! URI does not take as they are get percent-encoded when written, so that `/` always separates and never belongs to a
//! name.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::{InvalidIdentity, Role};

/// Who a certificate stands for: one participant of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    cluster: String,
    role: Role,
    name: String,
}

impl Identity {
    /// The longest cluster name, in bytes.
    pub const MAX_CLUSTER_LEN: usize = 63;
    /// The longest name, in bytes.
    pub const MAX_NAME_LEN: usize = 128;

    /// Checks both texts.
    pub fn new(
        cluster: impl Into<String>,
        role: Role,
        name: impl Into<String>,
    ) -> Result<Self, InvalidIdentity> {
        let (cluster, name) = (checked_cluster(cluster.into())?, name.into());
        let fits = (1..=Self::MAX_NAME_LEN).contains(&name.len());
        if !fits || !name.bytes().all(|b| b.is_ascii_graphic() && b != b'/') {
            return Err(InvalidIdentity::BadName {
                found: name,
                max: Self::MAX_NAME_LEN,
            });
        }
        if role == Role::Node && name.starts_with(OF_CLIENTS) {
            return Err(InvalidIdentity::NameOfClient { found: name });
        }
        Ok(Self {
            cluster,
            role,
            name,
        })
    }

    /// The cluster that the participant belongs to.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// What kind of participant it is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// What operators call it; for a node, its `NodeName`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What nodes call it. For a client that is a name which no node can have, so that it is never taken for one.
    pub fn name_among_nodes(&self) -> Cow<'_, str> {
        match self.role {
            Role::Client => format!("{OF_CLIENTS}{}", self.name).into(),
            Role::Node | Role::Manager | Role::Admin => self.name().into(),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/", self.cluster, self.role)?;
        for byte in self.name.bytes() {
            if is_plain(byte) || byte == b'~' {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Identity {
    type Err = InvalidIdentity;

    fn from_str(text: &str) -> Result<Self, InvalidIdentity> {
        let segments = text.strip_prefix(SCHEME).map(|path| path.split('/'));
        let Some([cluster, role, name]) = segments.and_then(exactly_three) else {
            return Err(InvalidIdentity::NotOurs {
                found: text.to_owned(),
            });
        };
        let role = Role::named(role).ok_or_else(|| InvalidIdentity::UnknownRole {
            found: role.to_owned(),
        })?;
        Self::new(cluster, role, decoded(name)?)
    }
}

pub(crate) fn checked_cluster(cluster: String) -> Result<String, InvalidIdentity> {
    let fits = (1..=Identity::MAX_CLUSTER_LEN).contains(&cluster.len());
    if fits && cluster.bytes().all(is_plain) {
        return Ok(cluster);
    }
    Err(InvalidIdentity::BadCluster {
        found: cluster,
        max: Identity::MAX_CLUSTER_LEN,
    })
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn exactly_three<'t>(mut segments: impl Iterator<Item = &'t str>) -> Option<[&'t str; 3]> {
    let three = [segments.next()?, segments.next()?, segments.next()?];
    segments.next().is_none().then_some(three)
}

/// Undoes percent-encoding. A byte beyond ASCII becomes a character that no name may contain.
fn decoded(segment: &str) -> Result<String, InvalidIdentity> {
    let bad = || InvalidIdentity::BadEncoding {
        found: segment.to_owned(),
    };
    let mut name = String::with_capacity(segment.len());
    let mut rest = segment.chars();
    while let Some(c) = rest.next() {
        name.push(match c {
            '%' => {
                let mut digit = || rest.next().and_then(|c| c.to_digit(16));
                let value = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                value.and_then(char::from_u32).ok_or_else(bad)?
            }
            '?' | '#' => return Err(bad()),
            plain => plain,
        });
    }
    Ok(name)
}

/// What the names of clients begin with where they stand beside those of nodes.
pub(crate) const OF_CLIENTS: &str = "client=";

/// Opens every URI of ours.
pub(crate) const SCHEME: &str = "ostrakon://";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_is_called_like_a_node() {
        let named = |role, name| Identity::new("prod", role, name);
        let client = named(Role::Client, "node-1").unwrap();
        let node = named(Role::Node, "node-1").unwrap();
        assert_eq!(client.name_among_nodes(), "client=node-1");
        assert_eq!(node.name_among_nodes(), "node-1");
        let posing = named(Role::Node, "client=node-1");
        let found = "client=node-1".to_owned();
        assert_eq!(posing, Err(InvalidIdentity::NameOfClient { found }));
        let text = "ostrakon://prod/node/client%3Dnode-1";
        assert!(text.parse::<Identity>().is_err());
        assert!(named(Role::Node, "client").is_ok());
    }

    fn parse(text: &str) -> Result<Identity, InvalidIdentity> {
        text.parse()
    }

    #[test]
    fn an_identity_is_written_as_a_uri_and_read_back() {
        for (role, uri) in [
            (Role::Node, "ostrakon://prod/node/n-1"),
            (Role::Client, "ostrakon://prod/client/n-1"),
            (Role::Admin, "ostrakon://prod/admin/n-1"),
        ] {
            let identity = Identity::new("prod", role, "n-1").unwrap();
            assert_eq!(identity.to_string(), uri);
            assert_eq!(parse(uri), Ok(identity));
        }
    }

    #[test]
    fn characters_with_a_meaning_in_uris_are_percent_encoded() {
        for (name, uri) in [
            ("10.0.0.1:7000", "ostrakon://c/node/10.0.0.1%3A7000"),
            ("[::1]:7000", "ostrakon://c/node/%5B%3A%3A1%5D%3A7000"),
            ("a?b#c%d", "ostrakon://c/node/a%3Fb%23c%25d"),
            ("%41", "ostrakon://c/node/%2541"),
            ("~", "ostrakon://c/node/~"),
        ] {
            let identity = Identity::new("c", Role::Node, name).unwrap();
            assert_eq!(identity.to_string(), uri);
            assert_eq!(parse(uri), Ok(identity));
        }
    }

    #[test]
    fn other_issuers_may_leave_harmless_characters_as_they_are() {
        let encoded = parse("ostrakon://c/node/10.0.0.1%3a7000").unwrap();
        assert_eq!(parse("ostrakon://c/node/10.0.0.1:7000"), Ok(encoded));
    }

    #[test]
    fn texts_of_another_form_are_not_ours() {
        for text in [
            "",
            "ostrakon://",
            "ostrakon://prod",
            "ostrakon://prod/node",
            "ostrakon://prod/node/a/b",
            "ostrakon://prod/node/a/",
            "Ostrakon://prod/node/a",
            "spiffe://prod/node/a",
            " ostrakon://prod/node/a",
        ] {
            assert!(
                matches!(parse(text), Err(InvalidIdentity::NotOurs { .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_separator_cannot_be_smuggled_into_a_name() {
        for text in [
            "ostrakon://prod/node/a%2Fb",
            "ostrakon://prod/node/a%00",
            "ostrakon://prod/node/a%20b",
            "ostrakon://prod/node/%C3%A9",
            "ostrakon://prod/node/é",
            "ostrakon://prod/node/",
        ] {
            assert!(
                matches!(parse(text), Err(InvalidIdentity::BadName { .. })),
                "{text:?}: {:?}",
                parse(text)
            );
        }
    }

    #[test]
    fn half_an_encoding_is_refused() {
        for text in ["%", "%4", "a%zz", "%+1", "a?b", "a#b"] {
            assert!(
                matches!(
                    parse(&format!("ostrakon://prod/node/{text}")),
                    Err(InvalidIdentity::BadEncoding { .. })
                ),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_refusal_says_what_would_do() {
        assert_eq!(
            parse("ostrakon://prod/nodes/a").unwrap_err().to_string(),
            "\"nodes\" is not a role: use node, client or admin"
        );
        assert_eq!(
            parse("ostrakon://prød/node/a").unwrap_err().to_string(),
            "\"prød\" is not a cluster name: use 1 to 63 of the letters A to Z and a to z, digits, '.', '_' and '-'"
        );
    }

    #[test]
    fn both_texts_have_a_longest_and_a_shortest_form() {
        let of = |cluster, name| {
            Identity::new("c".repeat(cluster), Role::Node, "n".repeat(name)).is_ok()
        };
        assert!(of(1, 1) && of(63, 128));
        assert!(!of(0, 1) && !of(64, 1) && !of(1, 0) && !of(1, 129));
    }
}
