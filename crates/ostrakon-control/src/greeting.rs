//! The greeting: who dials, whom, and whether they fit together.
//!
//! The dialer says who it is, the manager lets it in or says why not. Under TLS both must be who their certificates say. A refusal is
//! in the logs of both sides.

use std::{io, net::SocketAddr, time::Duration};

use ostrakon_core::{InvalidId, NodeName};
use ostrakon_tls::{Identity, Role, Secured, Security, TlsError, Wire};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::frame::{self, FrameError, Framed, quoted};

/// What every greeting begins with, so that nobody takes something else for one.
const MAGIC: [u8; 8] = *b"OSTRKNM\x01";
/// The versions of this conversation that we speak.
const OLDEST: u16 = 1;
const NEWEST: u16 = 1;
/// The largest greeting.
const MOST: usize = 16 << 10;
/// How long a caller that is refused may take to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// Who dials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Which cluster it belongs to.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// What it wants.
    pub seat: Seat,
}

/// What a caller takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    /// It hosts entities.
    Node,
    /// It hosts nothing and wants to know who does.
    Client,
}

/// A caller that was let in.
pub struct Caller {
    /// Its name.
    pub name: NodeName,
    /// What it takes part in.
    pub seat: Seat,
    /// The connection.
    pub wire: Box<dyn Wire>,
}

#[derive(Serialize, Deserialize)]
enum Judgement {
    Welcome { manager: String },
    Refused { reason: String },
}

/// Why there is no conversation.
#[derive(Debug, Error)]
pub enum GreetingError {
    /// The connection could not be opened, or broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("it did not answer within {0:?}")]
    Late(Duration),
    /// What came was no greeting.
    #[error("it is no part of this conversation: {0}")]
    Stranger(&'static str),
    /// The greeting could not be read.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// We do not want it.
    #[error("refused: {0}")]
    Refused(String),
    /// It does not want us.
    #[error("the manager refuses us: {0}")]
    RefusedByManager(String),
}

/// Opens a conversation with the manager at this address; returns what the manager calls itself.
pub async fn dial(
    address: SocketAddr,
    security: &Security,
    hello: &Hello,
    within: Duration,
) -> Result<(Box<dyn Wire>, String), GreetingError> {
    if !security.allows(address) {
        let reason = format!(
            "{address} is not a loopback address, and plain text is allowed to those only; use TLS"
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason).into());
    }
    let dialing = async {
        let stream = TcpStream::connect(address).await?;
        let Secured { mut wire, identity } = security.connect(stream).await?;
        // Whoever refuses our certificate may have hung up before it has heard this; it has said why.
        let _ = wire.write_all(&opening(hello)?).await;
        let _ = wire.flush().await;
        let manager = match frame::read(&mut wire, MOST).await.map_err(unanswered)? {
            Judgement::Welcome { manager } => quoted(&manager),
            Judgement::Refused { reason } => {
                return Err(GreetingError::RefusedByManager(quoted(&reason)));
            }
        };
        if let Some(identity) = identity
            && (identity.role() != Role::Manager || identity.name() != manager)
        {
            return Err(GreetingError::Refused(format!(
                "who answers has the certificate of {identity} and calls itself manager `{manager}`"
            )));
        }
        Ok((wire, manager))
    };
    tokio::time::timeout(within, dialing)
        .await
        .unwrap_or(Err(GreetingError::Late(within)))
}

fn opening(hello: &Hello) -> Result<Vec<u8>, FrameError> {
    let mut opening = MAGIC.to_vec();
    opening.extend_from_slice(&OLDEST.to_be_bytes());
    opening.extend_from_slice(&NEWEST.to_be_bytes());
    opening.extend_from_slice(Framed::new(hello)?.bytes());
    Ok(opening)
}

/// Why whoever was dialed has not answered as a manager does.
fn unanswered(error: FrameError) -> GreetingError {
    match error {
        // In TLS the other side's refusal of our certificate arrives with the first read.
        FrameError::Broken(error) => {
            let named = TlsError::from(error);
            GreetingError::Io(if let TlsError::Handshake(error) = named {
                error
            } else {
                io::Error::other(named)
            })
        }
        FrameError::TooLarge { .. } | FrameError::Unreadable(_) => {
            GreetingError::Stranger("it does not answer as a manager does")
        }
    }
}

/// Answers a caller: lets it in, or says why not.
pub async fn greet(
    stream: TcpStream,
    security: &Security,
    cluster: &str,
    manager: &str,
    within: Duration,
) -> Result<Caller, GreetingError> {
    let greeting = async {
        let Secured { mut wire, identity } = security.accept(stream).await?;
        let judged = match read_hello(&mut wire).await? {
            Ok(hello) => judge(&hello, cluster, identity.as_ref()),
            Err(reason) => Err(reason),
        };
        match judged {
            Ok((name, seat)) => {
                let manager = manager.to_owned();
                frame::write(&mut wire, &Judgement::Welcome { manager }).await?;
                Ok(Caller { name, seat, wire })
            }
            Err(reason) => {
                refuse(wire, reason.clone()).await;
                Err(GreetingError::Refused(reason))
            }
        }
    };
    tokio::time::timeout(within, greeting)
        .await
        .unwrap_or(Err(GreetingError::Late(within)))
}

/// Says why not. The dialer may have gone already; the log says it in any case.
async fn refuse(mut wire: Box<dyn Wire>, reason: String) {
    let farewell = async {
        frame::write(&mut wire, &Judgement::Refused { reason }).await?;
        wire.shutdown().await?;
        // A connection that is closed with something unread in it is reset, and takes the reason with it.
        let mut rest = (&mut wire).take(MOST as u64);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
        Ok::<_, FrameError>(())
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

async fn read_hello(wire: &mut Box<dyn Wire>) -> Result<Result<Hello, String>, GreetingError> {
    let mut opening = [0; 12];
    wire.read_exact(&mut opening).await?;
    if opening[..8] != MAGIC {
        return Err(GreetingError::Stranger("it does not begin as one"));
    }
    let oldest = u16::from_be_bytes([opening[8], opening[9]]);
    let newest = u16::from_be_bytes([opening[10], opening[11]]);
    if newest < OLDEST || oldest > NEWEST {
        return Ok(Err(format!(
            "it speaks versions {oldest} to {newest} of the conversation with managers, and this manager {OLDEST} to {NEWEST}: upgrade the older side"
        )));
    }
    Ok(Ok(frame::read(wire, MOST).await?))
}

fn judge(
    hello: &Hello,
    cluster: &str,
    identity: Option<&Identity>,
) -> Result<(NodeName, Seat), String> {
    if hello.cluster != cluster {
        let theirs = quoted(&hello.cluster);
        return Err(format!(
            "it belongs to cluster `{theirs}`, and this is a manager of `{cluster}`"
        ));
    }
    let name = NodeName::new(&hello.name).map_err(|error: InvalidId| error.to_string())?;
    if let Some(identity) = identity {
        let role = match hello.seat {
            Seat::Node => identity.role() == Role::Node,
            Seat::Client => matches!(identity.role(), Role::Node | Role::Client),
        };
        if !role || identity.name() != name.as_str() {
            return Err(format!(
                "its certificate is for {identity}, but it says it is {:?} `{name}`",
                hello.seat
            ));
        }
    }
    Ok((name, hello.seat))
}
