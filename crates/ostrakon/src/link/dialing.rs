//! Dialing: from a node's name to a connection that both sides have agreed on.
//!
//! A node may be known by a name that stands for several addresses: of both families, or of several nodes behind one name. Each is tried until
//! one lets us in as who we are, to whom we want.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use ostrakon_tls::Wire;
use tokio::{net::TcpStream, time::Instant};

use super::{
    Hub, Link,
    handshake::{self, HandshakeError, Purpose},
    pen::Pen,
};

/// A connection that the other side has agreed on.
pub(crate) struct Dialed {
    pub(crate) wire: Box<dyn Wire>,
    pub(super) pen: Option<Pen>,
    pub(super) welcome: handshake::Welcome,
}

/// Dials the addresses of the other node until one lets us in, no longer than a handshake may take.
pub(crate) async fn dial(
    hub: &Arc<Hub>,
    link: &Arc<Link>,
    purpose: Purpose,
    session: u64,
) -> Result<Dialed, HandshakeError> {
    let most = hub.limits.handshake;
    let until = Instant::now() + most;
    let found = within(most, resolve(hub, link)).await?;
    each_of(&found, until, |address| {
        meet(hub, link, address, purpose, session)
    })
    .await
}

/// Tries one address after the other. Each has its share of the time, so that one which says nothing does not use it up.
async fn each_of<T, F>(
    addresses: &[SocketAddr],
    until: Instant,
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<T, HandshakeError>
where
    F: Future<Output = Result<T, HandshakeError>>,
{
    let mut failed = io::Error::new(ErrorKind::NotFound, "its name has no address").into();
    for (n, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - n).unwrap_or(u32::MAX);
        let share = until.saturating_duration_since(Instant::now()) / left;
        match within(share, attempt(*address)).await {
            Ok(done) => return Ok(done),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn within<T>(
    most: Duration,
    work: impl Future<Output = Result<T, HandshakeError>>,
) -> Result<T, HandshakeError> {
    let done = tokio::time::timeout(most, work).await;
    done.unwrap_or(Err(HandshakeError::Late(most)))
}

async fn meet(
    hub: &Hub,
    link: &Link,
    address: SocketAddr,
    purpose: Purpose,
    session: u64,
) -> Result<Dialed, HandshakeError> {
    if !hub.security.allows(address) {
        let reason = format!(
            "{address} is not a loopback address, and plain text is allowed to those only; use TLS"
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, reason).into());
    }
    let stream = TcpStream::connect(address).await?;
    let pen = Pen::of(hub, &stream);
    let mut secured = hub.security.connect(stream).await?;
    let welcome = handshake::dial(&hub.me, &mut secured, &link.peer, purpose, session)
        .await
        .map_err(HandshakeError::named)?;
    Ok(Dialed {
        wire: secured.wire,
        pen,
        welcome,
    })
}

async fn resolve(hub: &Hub, link: &Link) -> Result<Vec<SocketAddr>, HandshakeError> {
    let address = hub.address(&link.peer);
    let unknown = || io::Error::new(ErrorKind::NotFound, "its address is not known");
    let found = tokio::net::lookup_host(address.ok_or_else(unknown)?).await?;
    Ok(found.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_secs(5);

    fn addresses(last: &[u8]) -> Vec<SocketAddr> {
        let address = |last: &u8| SocketAddr::from(([127, 0, 0, *last], 1));
        last.iter().map(address).collect()
    }

    /// The first refuses, the second says nothing, the third lets everybody in.
    async fn attempt(address: SocketAddr) -> Result<SocketAddr, HandshakeError> {
        match addresses(&[1, 2]).iter().position(|one| *one == address) {
            Some(0) => Err(io::Error::from(ErrorKind::ConnectionRefused).into()),
            Some(_) => std::future::pending().await,
            None => Ok(address),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_address_of_a_name_is_tried_until_one_lets_us_in() {
        let until = Instant::now() + MOST;
        let found = each_of(&addresses(&[1, 2, 3, 2]), until, attempt).await;
        assert_eq!(found.unwrap(), addresses(&[3])[0]);
        assert!(Instant::now() < until, "the silent one has had its share");
    }

    #[tokio::test(start_paused = true)]
    async fn all_together_take_no_longer_than_one_may() {
        let began = Instant::now();
        let failed = each_of(&addresses(&[2, 1, 2]), began + MOST, attempt).await;
        let failed = failed.unwrap_err();
        assert!(matches!(failed, HandshakeError::Late(_)), "{failed}");
        assert_eq!(began.elapsed().as_secs(), MOST.as_secs());
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_an_error() {
        let failed = each_of(&[], Instant::now() + MOST, attempt).await;
        let failed = failed.unwrap_err().to_string();
        assert_eq!(failed, "its name has no address");
    }
}
