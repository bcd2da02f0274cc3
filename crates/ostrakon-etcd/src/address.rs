//! `Address`: where the servers are, and who we are there.

use ostrakon_storage::OpenError;

const SCHEME: &str = "etcd://";
const PORT: &str = "2379";

/// `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]`
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Each as `host:port`.
    pub(crate) servers: Vec<String>,
    pub(crate) user: Option<(String, String)>,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        let Some(rest) = url.strip_prefix(SCHEME) else {
            return Err(invalid(url, "it does not begin with etcd://"));
        };
        // A password may have any character in it, a host has no `@`.
        let (user, hosts) = match rest.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, rest),
        };
        let user = match user.map(|user| user.split_once(':')) {
            Some(Some((name, password))) => Some((name.to_owned(), password.to_owned())),
            Some(None) => return Err(invalid(url, "there is no password behind the user")),
            None => None,
        };
        let hosts = hosts.strip_suffix('/').unwrap_or(hosts);
        let servers = hosts.split(',').map(|host| server(url, host));
        Ok(Self {
            servers: servers.collect::<Result<_, _>>()?,
            user,
        })
    }
}

fn server(url: &str, host: &str) -> Result<String, OpenError> {
    if host.is_empty() {
        return Err(invalid(url, "a host is empty"));
    }
    if host.contains(['/', '?', '#', ' ']) {
        return Err(invalid(
            url,
            "there is more than hosts and ports; keys are always under /ostrakon/",
        ));
    }
    // An IPv6 address is in brackets and has colons of its own.
    let behind_address = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    match behind_address.rsplit_once(':') {
        None => Ok(format!("{host}:{PORT}")),
        Some((_, port)) if port.parse::<u16>().is_ok() => Ok(host.to_owned()),
        Some(_) => Err(invalid(url, "a port is not a number")),
    }
}

fn invalid(url: &str, reason: &str) -> OpenError {
    OpenError::InvalidUrl {
        url: without_password(url),
        reason: reason.to_owned(),
    }
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, hosts))) => format!("{scheme}://…@{hosts}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(url: &str) -> String {
        match Address::parse(url) {
            Err(error) => error.to_string(),
            Ok(address) => panic!("{:?}", address.servers),
        }
    }

    #[test]
    fn several_servers_have_the_usual_port_unless_they_name_one() {
        let address = Address::parse("etcd://a,b:1,[::1],[::1]:2/").unwrap();
        assert_eq!(address.servers, ["a:2379", "b:1", "[::1]:2379", "[::1]:2"]);
        assert_eq!(address.user, None);
    }

    #[test]
    fn a_password_may_have_every_character() {
        let address = Address::parse("etcd://me:a:b/c,d@e@host").unwrap();
        assert_eq!(address.servers, ["host:2379"]);
        let user = ("me".to_owned(), "a:b/c,d@e".to_owned());
        assert_eq!(address.user, Some(user));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        assert!(reason("http://a").contains("does not begin with etcd://"));
        assert!(reason("etcd://").contains("a host is empty"));
        assert!(reason("etcd://a,,b").contains("a host is empty"));
        assert!(reason("etcd://a:b").contains("a port is not a number"));
        assert!(reason("etcd://a/b").contains("under /ostrakon/"));
        assert!(reason("etcd://me@a").contains("no password"));
    }

    #[test]
    fn an_error_does_not_show_the_password() {
        let reason = reason("etcd://me:secret@host:x");
        assert!(reason.contains("`etcd://…@host:x`"), "{reason}");
        assert!(!reason.contains("secret"), "{reason}");
    }
}
