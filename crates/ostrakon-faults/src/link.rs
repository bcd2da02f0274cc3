//! One connection through the proxy: a client's socket, the target's socket, two lanes between them.
//!
//! Invariant: unless both peers have ended their streams in order, both sockets are reset, however the
//! link ends: by a cut, by a broken peer, or by being dropped with the proxy.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::net::{TcpSocket, TcpStream};

use crate::{
    Direction,
    control::{Control, settled},
    dice::Dice,
    lane::{Broken, Lane},
};

pub(crate) struct Link {
    pub(crate) client: Socket,
    pub(crate) target: SocketAddr,
    /// Counted from 0.
    pub(crate) number: u64,
    pub(crate) generation: u64,
    pub(crate) control: Arc<Control>,
}

impl Link {
    pub(crate) async fn run(mut self) {
        let (control, generation) = (Arc::clone(&self.control), self.generation);
        tokio::select! {
            biased;
            () = until_cut(&control, generation) => {}
            // Broken or not, the sockets know how to end.
            _ = self.connect_and_carry() => {}
        }
    }

    async fn connect_and_carry(&mut self) -> Result<(), Broken> {
        let mut target = Socket::connect(self.target).await?;
        let (from_client, to_client) = self.client.0.split();
        let (from_target, to_target) = target.0.split();
        let lane = |direction, from, to| Lane {
            direction,
            generation: self.generation,
            from,
            to,
            control: &self.control,
            rules: self.control.rules(),
            dice: Dice::new(self.number, direction),
        };
        tokio::try_join!(
            lane(Direction::ToTarget, from_client, to_target).carry(),
            lane(Direction::ToClient, from_target, to_client).carry(),
        )?;
        self.client.end_in_order()?;
        Ok(target.end_in_order()?)
    }
}

/// Counts the cut itself, since the sockets may be gone by the time this has returned.
async fn until_cut(control: &Control, generation: u64) {
    settled(&mut control.rules(), |rules| rules.generation != generation).await;
    control.count(|mischief| mischief.cuts += 1);
}

/// A socket that is reset when dropped, unless its connection has been said to end in order.
pub(crate) struct Socket(TcpStream);

impl Socket {
    pub(crate) fn accepted(stream: TcpStream) -> io::Result<Self> {
        stream.set_zero_linger()?;
        Self::without_gluing(stream)
    }

    async fn connect(target: SocketAddr) -> io::Result<Self> {
        let socket = match target {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // Already here: a cut can come while the target has accepted and this side does not know yet.
        socket.set_zero_linger()?;
        Self::without_gluing(socket.connect(target).await?)
    }

    /// Small pieces must stay apart.
    fn without_gluing(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    #[expect(
        deprecated,
        reason = "it warns of waiting on close, and this is how not to wait"
    )]
    fn end_in_order(&self) -> io::Result<()> {
        self.0.set_linger(None)
    }
}
