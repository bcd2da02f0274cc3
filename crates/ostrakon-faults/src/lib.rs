//! Faults for tests: a TCP proxy on loopback that stands between two real nodes and makes trouble.
//!
//! A test either scripts the trouble by hand (`stall`, `cut`, `corrupt_next` …) or unleashes
//! [`Chaos`], whose every decision follows from a seed. In both cases the proxy counts what it did,
//! so that a test can assert that it survived something rather than nothing.
//!
//! The proxy knows bytes and connections only, no protocol. It adds no trouble of its own: while
//! nobody asks for any, bytes, half-closes, resets and backpressure pass through as they are.
//!
//! ```
//! # use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::{TcpListener, TcpStream}};
//! use ostrakon_faults::{Direction, Proxy};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let node = TcpListener::bind("127.0.0.1:0").await?;
//! let proxy = Proxy::to(node.local_addr()?)?;
//! let mut peer = TcpStream::connect(proxy.address()).await?;
//! let (mut accepted, _) = node.accept().await?;
//!
//! proxy.stall();
//! peer.write_all(b"late").await?;
//! proxy.until(|mischief| mischief.stalls == 1).await;
//! assert_eq!(proxy.bytes(Direction::ToTarget), 0);
//!
//! proxy.pass();
//! let mut received = [0; 4];
//! accepted.read_exact(&mut received).await?;
//! assert_eq!(&received, b"late");
//! # Ok(())
//! # }
//! ```

mod chaos;
mod control;
mod dice;
mod direction;
mod fate;
mod lane;
mod link;
mod mischief;
mod proxy;
mod rules;

pub use chaos::Chaos;
pub use direction::Direction;
pub use mischief::Mischief;
pub use proxy::Proxy;
