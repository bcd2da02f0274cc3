//! The proxy as a test sees it: an address to connect to, switches for trouble, and counters.
//!
//! What is switched on by hand stays on until [`Proxy::pass`]; [`Chaos`] stays until [`Proxy::calm`];
//! a fault ordered for the next chunk stays until it has happened. The three do not touch each other.
//! Every switch works on bytes already held back, too.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::{
    Chaos, Direction, Mischief,
    control::Control,
    link::{Link, Socket},
};

/// A TCP proxy on loopback that makes trouble on demand.
///
/// Dropping it resets its connections and frees its address, as soon as the runtime gets to it.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    control: Arc<Control>,
    acceptor: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and forwards each connection to `target`, unchanged until
    /// told otherwise. If the target cannot be reached, the client's connection is reset.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time enabled.
    pub fn to(target: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let control = Arc::new(Control::new());
        let acceptor = Acceptor {
            listener: TcpListener::from_std(listener)?,
            links: JoinSet::new(),
            target,
            control: Arc::clone(&control),
        };
        Ok(Self {
            address: acceptor.listener.local_addr()?,
            control,
            acceptor: tokio::spawn(acceptor.run()),
        })
    }

    /// Where to connect instead of to the target.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends stalling, refusing, delaying and throttling. Bytes held back flow again, in order and
    /// complete. A fault ordered for the next chunk still comes, first of all to a chunk held back.
    pub fn pass(&self) {
        self.control.change(|rules| rules.pass());
    }

    /// Accepts connections and keeps them open, but forwards nothing, not even the end of a stream.
    /// Once this returns, not a byte passes.
    pub fn stall(&self) {
        self.control.change(|rules| rules.stalled = [true; 2]);
    }

    /// Like [`stall`](Self::stall), in one direction only.
    pub fn stall_towards(&self, direction: Direction) {
        let way = direction as usize;
        self.control.change(|rules| rules.stalled[way] = true);
    }

    /// Resets every connection accepted so far; new ones are welcome. Once this returns, not a byte
    /// passes on the old ones; their peers learn of it as soon as the runtime gets to it.
    pub fn cut(&self) {
        self.control.change(|rules| rules.generation += 1);
    }

    /// Resets every connection, those to come at once when they are made.
    pub fn refuse(&self) {
        self.control.change(|rules| {
            rules.refusing = true;
            rules.generation += 1;
        });
    }

    /// Holds back each chunk for this long, one after the other: a chunk is what one read gave, at
    /// most 16 KiB.
    pub fn delay(&self, time: Duration) {
        self.control.change(|rules| rules.delay = time);
    }

    /// Slows down each direction of each connection to this rate. Timers tick in milliseconds, so
    /// from some megabytes per second on the line is slower than asked for.
    ///
    /// # Panics
    /// At a rate of zero: that is a [`stall`](Self::stall).
    pub fn throttle(&self, bytes_per_second: u32) {
        assert!(bytes_per_second > 0, "use `stall` to let nothing through");
        self.control
            .change(|rules| rules.bytes_per_second = Some(bytes_per_second));
    }

    /// Flips one bit in the next chunk of any connection. Called twice, it means two chunks.
    pub fn corrupt_next(&self, direction: Direction) {
        let way = direction as usize;
        self.control.change(|rules| rules.corrupt_next[way] += 1);
    }

    /// Forwards only a beginning of the next chunk of any connection, possibly nothing of it, and
    /// then resets that connection. Called twice, it means two chunks.
    pub fn truncate_next(&self, direction: Direction) {
        let way = direction as usize;
        self.control.change(|rules| rules.truncate_next[way] += 1);
    }

    /// Makes random trouble from now on, on old and new connections, in place of any chaos before.
    pub fn unleash(&self, chaos: Chaos) {
        self.control.change(|rules| rules.chaos = chaos);
    }

    /// Ends the random trouble. Bytes held back by it flow again at once.
    pub fn calm(&self) {
        self.unleash(Chaos::none(0));
    }

    /// How many connections were accepted so far, refused ones included.
    pub fn connections(&self) -> u64 {
        self.control.counts().connections
    }

    /// Returns once `count` connections in total have been accepted, refused ones included.
    pub async fn connected(&self, count: u64) {
        self.control.until(|now| now.connections >= count).await;
    }

    /// How many bytes were forwarded so far. A byte that a peer has received is always counted.
    pub fn bytes(&self, direction: Direction) -> u64 {
        self.control.counts().bytes[direction as usize]
    }

    /// What was done to the traffic so far.
    pub fn mischief(&self) -> Mischief {
        self.control.counts().mischief
    }

    /// Returns once the mischief done so far is `enough`.
    pub async fn until(&self, mut enough: impl FnMut(&Mischief) -> bool) {
        self.control.until(|now| enough(&now.mischief)).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// Field order matters: the listener is gone before the links are reset, so that a peer which sees
/// the reset cannot connect once more.
struct Acceptor {
    listener: TcpListener,
    links: JoinSet<()>,
    target: SocketAddr,
    control: Arc<Control>,
}

impl Acceptor {
    async fn run(mut self) {
        loop {
            tokio::select! {
                Some(_) = self.links.join_next() => {}
                accepted = self.listener.accept(), if self.links.len() < MOST_LINKS => match accepted {
                    Ok((client, _)) => self.welcome(client),
                    // Most likely out of file descriptors: some may be free again a little later.
                    Err(_) => tokio::time::sleep(AFTER_FAILED_ACCEPT).await,
                },
            }
        }
    }

    fn welcome(&mut self, client: TcpStream) {
        // Before the connection is counted: a cut by someone who has seen the count must find it.
        let (refusing, generation) = self
            .control
            .read(|rules| (rules.refusing, rules.generation));
        let number = self.control.count_connection();
        let Ok(client) = Socket::accepted(client) else {
            return;
        };
        if refusing {
            self.control.count(|mischief| mischief.cuts += 1);
            return;
        }
        let link = Link {
            client,
            target: self.target,
            number,
            generation,
            control: Arc::clone(&self.control),
        };
        self.links.spawn(link.run());
    }
}

/// Beyond this, connections wait in the listener's queue, which looks like a stall to them.
const MOST_LINKS: usize = 256;
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(10);
