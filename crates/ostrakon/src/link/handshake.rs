//! The handshake: who is there, and do we fit together?
//!
//! ```text
//!   dialer                                  acceptor
//!     magic, versions, Hello ─────────────▶  judges: cluster, version, groups, name, certificate, incarnation
//!     ◀───────────────────────────────────  Welcome (with a challenge), or Refused and why
//!     Ready (the challenge again) ────────▶  only now is the connection one
//! ```
//!
//! The texts are MessagePack with named fields: a field that one side does not know is skipped. Both sides log a refusal with its
//! reason. The challenge makes a recorded conversation useless.

use std::{io, time::Duration};

use ostrakon_core::{Incarnation, NodeName, ShardGroup, ShardHash};
use ostrakon_tls::{Identity, Role, Secured, TlsError, Wire};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const MAGIC: [u8; 8] = *b"OSTRAKON";
/// The versions of the protocol that this program speaks.
const OLDEST: u16 = 1;
const NEWEST: u16 = 1;
/// The longest text of a handshake: enough for hundreds of groups.
const MOST: usize = 64 * 1024;
/// How deep a text may be nested, unknown fields included: the decoder recurses, and the stack of a thread is all it has.
const MOST_DEPTH: usize = 32;

/// This node, as it introduces itself.
#[derive(Debug, Clone)]
pub(crate) struct Me {
    pub(crate) cluster: String,
    pub(crate) name: NodeName,
    pub(crate) incarnation: Incarnation,
    pub(crate) groups: Vec<ShardGroup>,
    pub(crate) message: usize,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Purpose {
    Data,
    /// Heartbeats beside the data of the session with this number.
    Control,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    /// Whom the dialer means to reach.
    pub(crate) to: String,
    pub(crate) purpose: Purpose,
    /// The acceptor's number of the session that a control connection belongs to; for data, the turn of the latest connection that
    /// the dialer has used.
    #[serde(default)]
    pub(crate) session: u64,
    #[serde(default)]
    pub(crate) groups: Vec<Group>,
    /// The largest message the dialer accepts.
    pub(crate) message: u64,
    #[serde(default)]
    pub(crate) features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    name: String,
    shards: u32,
    hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) version: u16,
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    pub(crate) session: u64,
    /// The connection's place among all between the two nodes.
    #[serde(default)]
    pub(crate) turn: u64,
    pub(crate) challenge: u64,
    pub(crate) message: u64,
    #[serde(default)]
    pub(crate) features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Judgement {
    Welcome(Welcome),
    Refused(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ready {
    challenge: u64,
}

/// The dialer's last word if it does not want the connection after all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Declined {
    refused: String,
}

/// One or the other, as the acceptor reads it.
#[derive(Debug, Deserialize)]
struct LastWord {
    challenge: Option<u64>,
    refused: Option<String>,
}

/// Why two nodes do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error(
        "it speaks protocol versions {oldest} to {newest}, this node {OLDEST} to {NEWEST}; upgrade the older one"
    )]
    Version { oldest: u16, newest: u16 },
    #[error("it belongs to cluster `{theirs}`, this node to `{ours}`; check the addresses")]
    OtherCluster { ours: String, theirs: String },
    #[error("it wants `{wanted}`, this node is `{me}`; check the addresses")]
    NotMe { wanted: String, me: NodeName },
    #[error("its name `{name}` cannot be used")]
    BadName { name: String },
    #[error("it has this node's own name `{name}`; give each node its own")]
    SameName { name: NodeName },
    #[error("its shard group `{group}` is {theirs}, here it is {ours}; all nodes need the same")]
    OtherGroup {
        group: String,
        ours: String,
        theirs: String,
    },
    #[error("its certificate is for `{proven}`, but it says to be `{said}`")]
    OtherIdentity { proven: String, said: String },
    #[error("its certificate has the role `{role}`, which has no business here")]
    WrongRole { role: String },
    #[error("both nodes dialed at once; the connection of `{winner}` is used")]
    Simultaneous { winner: NodeName },
    #[error(
        "a later start of a node of this name is known here: if both shall run, give them different names; if this is the later one, its clock has gone back"
    )]
    OldIncarnation,
    #[error("the session it belongs to is over")]
    NoSession,
    #[error("this node knows as many others as it may")]
    TooManyNodes,
    #[error("this node is leaving")]
    Leaving,
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    #[error("the other side is no node of this kind: {0}")]
    Stranger(&'static str),
    #[error("refused: {0}")]
    Refused(Refusal),
    #[error("the other side refused: {0}")]
    RefusedByPeer(String),
    #[error("the handshake took longer than {0:?}")]
    Late(Duration),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl HandshakeError {
    /// A dialer learns only with the first read that its certificate was refused: that is said in words.
    pub(crate) fn named(self) -> Self {
        let Self::Io(error) = self else {
            return self;
        };
        let named = TlsError::from(error);
        Self::Io(if let TlsError::Handshake(error) = named {
            error
        } else {
            io::Error::other(named)
        })
    }
}

impl Me {
    pub(crate) fn hello(&self, to: &NodeName, purpose: Purpose, session: u64) -> Hello {
        Hello {
            cluster: self.cluster.clone(),
            node: self.name.to_string(),
            incarnation: self.incarnation.get(),
            to: to.to_string(),
            purpose,
            session,
            groups: self.groups.iter().map(Group::of).collect(),
            message: self.message as u64,
            features: Vec::new(),
        }
    }

    /// Judges who dials, and says what to call it. What depends on the connections that exist is for the caller to judge.
    pub(crate) fn judge(
        &self,
        hello: &Hello,
        identity: Option<&Identity>,
    ) -> Result<NodeName, Refusal> {
        if hello.cluster != self.cluster {
            return Err(Refusal::OtherCluster {
                ours: self.cluster.clone(),
                theirs: shortened(&hello.cluster),
            });
        }
        let name = NodeName::new(&hello.node).map_err(|_| Refusal::BadName {
            name: shortened(&hello.node),
        })?;
        if hello.to != self.name.as_str() {
            return Err(Refusal::NotMe {
                wanted: shortened(&hello.to),
                me: self.name.clone(),
            });
        }
        if name == self.name {
            return Err(Refusal::SameName { name });
        }
        let name = admitted(identity, name)?;
        self.check_groups(&hello.groups)?;
        Ok(name)
    }

    /// Judges who answers.
    fn judge_welcome(
        &self,
        welcome: &Welcome,
        to: &NodeName,
        identity: Option<&Identity>,
    ) -> Result<(), Refusal> {
        if !(OLDEST..=NEWEST).contains(&welcome.version) {
            return Err(Refusal::Version {
                oldest: welcome.version,
                newest: welcome.version,
            });
        }
        if welcome.node != to.as_str() {
            return Err(Refusal::NotMe {
                wanted: to.to_string(),
                me: NodeName::new(&welcome.node).map_err(|_| Refusal::BadName {
                    name: shortened(&welcome.node),
                })?,
            });
        }
        check_answerer(identity, to)
    }

    /// A group that only one side knows is no conflict; one that both know must be the same.
    fn check_groups(&self, theirs: &[Group]) -> Result<(), Refusal> {
        for ours in self.groups.iter().map(Group::of) {
            if let Some(other) = theirs.iter().find(|g| g.name == ours.name && **g != ours) {
                return Err(Refusal::OtherGroup {
                    group: ours.name.clone(),
                    ours: ours.describe(),
                    theirs: other.describe(),
                });
            }
        }
        Ok(())
    }
}

/// What to call a dialer. A client is called what no node can be called: nothing that is for a node ever goes to it.
fn admitted(identity: Option<&Identity>, said: NodeName) -> Result<NodeName, Refusal> {
    let Some(identity) = identity else {
        return Ok(said);
    };
    check_role(identity, &[Role::Node, Role::Client])?;
    check_name(identity, &said)?;
    let name = identity.name_among_nodes();
    NodeName::new(&name).map_err(|_| Refusal::BadName {
        name: shortened(&name),
    })
}

/// Only nodes are dialed.
fn check_answerer(identity: Option<&Identity>, name: &NodeName) -> Result<(), Refusal> {
    let Some(identity) = identity else {
        return Ok(());
    };
    check_role(identity, &[Role::Node])?;
    check_name(identity, name)
}

fn check_role(identity: &Identity, allowed: &[Role]) -> Result<(), Refusal> {
    if allowed.contains(&identity.role()) {
        return Ok(());
    }
    let role = identity.role().to_string();
    Err(Refusal::WrongRole { role })
}

fn check_name(identity: &Identity, said: &NodeName) -> Result<(), Refusal> {
    if identity.name() == said.as_str() {
        return Ok(());
    }
    Err(Refusal::OtherIdentity {
        proven: identity.name().to_owned(),
        said: said.to_string(),
    })
}

impl Group {
    fn of(group: &ShardGroup) -> Self {
        let hash = match &group.hash {
            ShardHash::Stable => "stable".to_owned(),
            ShardHash::Java => "java".to_owned(),
            ShardHash::Md5 => "md5".to_owned(),
            ShardHash::Custom(custom) => format!("custom {}", custom.name()),
        };
        Self {
            name: group.name.to_string(),
            shards: group.count.get(),
            hash,
        }
    }

    fn describe(&self) -> String {
        format!("{} shards by hash `{}`", self.shards, shortened(&self.hash))
    }
}

/// What a stranger says, in a length and form that may go to a log.
fn shortened(text: &str) -> String {
    printable(text, 64)
}

/// The beginning of a text, on one line.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let visible = |c: char| if c.is_control() { '\u{FFFD}' } else { c };
    text.chars().take(most).map(visible).collect()
}

/// The dialer's part. `challenge` comes back in the last step.
pub(crate) async fn dial(
    me: &Me,
    secured: &mut Secured,
    to: &NodeName,
    purpose: Purpose,
    session: u64,
) -> Result<Welcome, HandshakeError> {
    let Secured { wire, identity } = secured;
    let mut opening = Vec::with_capacity(256);
    opening.extend_from_slice(&MAGIC);
    opening.extend_from_slice(&OLDEST.to_le_bytes());
    opening.extend_from_slice(&NEWEST.to_le_bytes());
    put_text(&mut opening, &me.hello(to, purpose, session))?;
    wire.write_all(&opening).await?;
    wire.flush().await?;
    let welcome = match read_text(wire).await? {
        Judgement::Welcome(welcome) => welcome,
        Judgement::Refused(reason) => {
            return Err(HandshakeError::RefusedByPeer(printable(&reason, 512)));
        }
    };
    if let Err(refusal) = me.judge_welcome(&welcome, to, identity.as_ref()) {
        let refused = refusal.to_string();
        // The acceptor may have gone already; our own log says it in any case.
        let _ = write_text(wire, &Declined { refused }).await;
        return Err(HandshakeError::Refused(refusal));
    }
    let challenge = welcome.challenge;
    write_text(wire, &Ready { challenge }).await?;
    Ok(welcome)
}

/// Reads who dials.
pub(crate) async fn read_hello(
    wire: &mut Box<dyn Wire>,
) -> Result<Result<Hello, Refusal>, HandshakeError> {
    let mut opening = [0; 12];
    wire.read_exact(&mut opening).await?;
    if opening[..8] != MAGIC {
        return Err(HandshakeError::Stranger("it does not begin as one"));
    }
    let oldest = u16::from_le_bytes([opening[8], opening[9]]);
    let newest = u16::from_le_bytes([opening[10], opening[11]]);
    if newest < OLDEST || oldest > NEWEST {
        // The text that follows may be of any form.
        return Ok(Err(Refusal::Version { oldest, newest }));
    }
    read_text(wire).await.map(Ok)
}

/// Lets the dialer in, and waits until it has said the challenge.
pub(crate) async fn welcome(
    me: &Me,
    wire: &mut Box<dyn Wire>,
    session: u64,
    turn: u64,
) -> Result<(), HandshakeError> {
    let challenge = fastrand::u64(..);
    let welcome = Welcome {
        version: NEWEST,
        node: me.name.to_string(),
        incarnation: me.incarnation.get(),
        session,
        turn,
        challenge,
        message: me.message as u64,
        features: Vec::new(),
    };
    write_text(wire, &Judgement::Welcome(welcome)).await?;
    let word: LastWord = read_text(wire).await?;
    match (word.challenge, word.refused) {
        (Some(said), _) if said == challenge => Ok(()),
        (_, Some(reason)) => Err(HandshakeError::RefusedByPeer(printable(&reason, 512))),
        (_, None) => Err(HandshakeError::Stranger(
            "it answers a challenge that was not given",
        )),
    }
}

/// Tells the dialer why it is not let in.
pub(crate) async fn refuse(
    wire: &mut Box<dyn Wire>,
    refusal: &Refusal,
) -> Result<(), HandshakeError> {
    write_text(wire, &Judgement::Refused(refusal.to_string())).await?;
    wire.shutdown().await?;
    Ok(())
}

fn put_text(out: &mut Vec<u8>, text: &impl Serialize) -> io::Result<()> {
    let bytes = rmp_serde::to_vec_named(text).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&bytes);
    Ok(())
}

async fn write_text(wire: &mut Box<dyn Wire>, text: &impl Serialize) -> io::Result<()> {
    let mut out = Vec::new();
    put_text(&mut out, text)?;
    wire.write_all(&out).await?;
    wire.flush().await
}

async fn read_text<T: DeserializeOwned>(wire: &mut Box<dyn Wire>) -> Result<T, HandshakeError> {
    let length = wire.read_u32_le().await? as usize;
    if length > MOST {
        return Err(HandshakeError::Stranger(
            "it says more than a handshake needs",
        ));
    }
    let mut bytes = Vec::new();
    // Grows with what really comes, not with what was announced.
    let read = wire.take(length as u64).read_to_end(&mut bytes).await?;
    if read < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let mut text = rmp_serde::Deserializer::from_read_ref(&bytes);
    text.set_max_depth(MOST_DEPTH);
    T::deserialize(&mut text).map_err(|_| HandshakeError::Stranger("it says something unreadable"))
}

#[cfg(test)]
mod tests;
