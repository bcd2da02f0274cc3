//! Ostrakon between two processes: by id, through the shard map, with the default codec.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use anyhow::{Context as _, Result};
use ostrakon::testing::{self, Assignment, Fixed, ShardMap, Version};
use ostrakon::{
    Context, Entity, EntityRef, Epoch, Failure, GroupName, Limits, Node, NodeName, Reply, Security,
    ShardGroup, StreamReply,
};
use ostrakon_tls::make::{Authority, Validity};
use ostrakon_tls::{Files, Identity, Role};
use serde::{Deserialize, Serialize};

use super::{Address, Body, Remote};
use crate::contenders::Counter;
use crate::measure::Link;

/// A node that reaches the entities of another.
pub(crate) struct Ours {
    node: Node,
    certificates: PathBuf,
}

const SERVER: &str = "server";
const CLIENT: &str = "client";
/// More often than by default, so that a short run sees several.
const HEARTBEAT: Duration = Duration::from_millis(20);

#[derive(Serialize, Deserialize)]
enum Message {
    Tell(Body),
    Ask(Body, Reply<Body>),
    Stream(u64, u64, StreamReply<Body>),
}

#[derive(Default)]
struct Remembered(Counter);

impl Entity for Remembered {
    const KIND: &'static str = "counter";
    type Message = Message;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, message: Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            Message::Tell(body) => self.0.add_body(body.bytes()),
            Message::Ask(body, reply) => {
                reply.send(self.0.answer_body(body.bytes()));
            }
            Message::Stream(count, size, reply) => ctx.spawn(async move {
                for number in 0..count {
                    if reply
                        .send(Body::carrying(number, size as usize))
                        .await
                        .is_err()
                    {
                        return;
                    }
                }
                reply.finish().await;
            }),
        }
        Ok(())
    }
}

/// `certificates` is where they are, for a link that needs some.
fn fixed(name: &str, link: Link, certificates: &Path) -> Result<Fixed> {
    Ok(Fixed {
        security: match link {
            Link::Plain | Link::Watched => Security::plaintext(),
            Link::Tls => Security::tls(Files::in_dir(certificates, name))?,
        },
        limits: match link {
            Link::Watched => Limits::default().heartbeat(HEARTBEAT, Duration::from_secs(5)),
            Link::Plain | Link::Tls => Limits::default(),
        },
        ..Fixed::plain()
    })
}

/// Certificates for both nodes in a new directory, which the client removes.
fn certify() -> Result<PathBuf> {
    let dir = env::temp_dir().join(format!("ostrakon-bench-{}", process::id()));
    fs::create_dir_all(&dir)?;
    let cluster = Fixed::plain().cluster;
    let authority = Authority::new(&cluster, Validity::for_the_next(Validity::OF_AUTHORITY))?;
    fs::write(dir.join("ca.pem"), authority.cert_pem())?;
    for name in [SERVER, CLIENT] {
        let identity = Identity::new(&cluster, Role::Node, name)?;
        let issued = authority.issue(&identity, Validity::for_the_next(Validity::OF_LEAF))?;
        fs::write(dir.join(format!("{name}.pem")), issued.cert_pem)?;
        fs::write(dir.join(format!("{name}.key")), issued.key_pem)?;
    }
    Ok(dir)
}

/// All shards belong to the server.
async fn assign(node: &Node) -> Result<()> {
    let group = ShardGroup::default();
    let owner = Assignment {
        owner: NodeName::new(SERVER)?,
        epoch: Epoch::new(1),
    };
    let mut map = ShardMap::unowned(Version::new(1), [&group]);
    for shard in group.count.iter() {
        map = map.with(&group.name, shard, Some(owner.clone()));
    }
    testing::adopt(node, &map).await;
    Ok(())
}

impl Remote for Ours {
    type Host = Node;

    async fn serve(link: Link) -> Result<(String, Node)> {
        let certificates = match link {
            Link::Plain | Link::Watched => PathBuf::new(),
            Link::Tls => certify()?,
        };
        let node = Node::builder(SERVER)
            .host::<Remembered>()
            .fixed(fixed(SERVER, link, &certificates)?)
            .start()
            .await?;
        assign(&node).await?;
        let address = testing::address(&node);
        Ok((format!("{address} {}", certificates.display()), node))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        let (address, certificates) = address.split_once(' ').unwrap_or((address, ""));
        let certificates = PathBuf::from(certificates);
        let node = Node::builder(CLIENT)
            .reach::<Remembered>(GroupName::default())
            .fixed(fixed(CLIENT, link, &certificates)?)
            .start()
            .await?;
        testing::introduce(&node, SERVER, address);
        assign(&node).await?;
        let link = Self { node, certificates };
        link.ask(&Address::of(0), Body::carrying(0, 8)).await?;
        Ok(link)
    }

    fn slowest_heartbeat(&self) -> Option<Duration> {
        testing::slowest_heartbeat(&self.node)
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let entity = self.node.entity::<Remembered>(&entity.id);
        Ok(entity.ask(|reply| Message::Ask(body, reply)).await?)
    }

    async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        let entity = self.node.entity::<Remembered>(&entity.id);
        Ok(entity.tell(Message::Tell(body)).await?)
    }

    async fn stream(
        &self,
        entity: &Address,
        count: u64,
        size: usize,
        mut each: impl FnMut(Body) -> Result<()> + Send,
    ) -> Result<()> {
        let entity = self.node.entity::<Remembered>(&entity.id);
        let ask = |reply| Message::Stream(count, size as u64, reply);
        let mut items = entity.stream(ask).await?;
        while let Some(item) = items.next().await {
            each(item.context("the stream broke")?)?;
        }
        Ok(())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if !self.certificates.as_os_str().is_empty() {
            // What is left behind is in the directory for such things.
            let _ = fs::remove_dir_all(&self.certificates);
        }
    }
}
