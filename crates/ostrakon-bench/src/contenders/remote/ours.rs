//! Ostrakon between two processes: by id, through the shard map, with the default codec.

use anyhow::{Context as _, Result};
use ostrakon::testing::{self, Assignment, Fixed, ShardMap, Version};
use ostrakon::{
    Context, Entity, EntityRef, Epoch, Failure, GroupName, Node, NodeName, Reply, Security,
    ShardGroup, StreamReply,
};
use serde::{Deserialize, Serialize};

use super::{Address, Body, Remote};
use crate::contenders::Counter;
use crate::measure::Link;

/// A node that reaches the entities of another.
pub(crate) struct Ours(Node);

const SERVER: &str = "server";
const CLIENT: &str = "client";

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
                    if reply.send(Body::carrying(number, size as usize)).await.is_err() {
                        return;
                    }
                }
                reply.finish().await;
            }),
        }
        Ok(())
    }
}

fn fixed(name: &str, link: Link) -> Result<Fixed> {
    Ok(Fixed {
        security: match link {
            Link::Plain => Security::plaintext(),
            Link::Tls => Security::tls(certificates::of(name)?)?,
        },
        ..Fixed::plain()
    })
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
        let node = Node::builder(SERVER)
            .host::<Remembered>()
            .fixed(fixed(SERVER, link)?)
            .start()
            .await?;
        assign(&node).await?;
        Ok((testing::address(&node).to_string(), node))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        let node = Node::builder(CLIENT)
            .reach::<Remembered>(GroupName::default())
            .fixed(fixed(CLIENT, link)?)
            .start()
            .await?;
        testing::introduce(&node, SERVER, address);
        assign(&node).await?;
        let link = Self(node);
        link.ask(&Address::of(0), Body::carrying(0, 8)).await?;
        Ok(link)
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let entity = self.0.entity::<Remembered>(&entity.id);
        Ok(entity.ask(|reply| Message::Ask(body, reply)).await?)
    }

    async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        let entity = self.0.entity::<Remembered>(&entity.id);
        Ok(entity.tell(Message::Tell(body)).await?)
    }

    async fn stream(
        &self,
        entity: &Address,
        count: u64,
        size: usize,
        mut each: impl FnMut(Body) -> Result<()> + Send,
    ) -> Result<()> {
        let entity = self.0.entity::<Remembered>(&entity.id);
        let ask = |reply| Message::Stream(count, size as u64, reply);
        let mut items = entity.stream(ask).await?;
        while let Some(item) = items.next().await {
            each(item.context("the stream broke")?)?;
        }
        Ok(())
    }
}

/// Certificates for the two nodes, made once and shared through a directory that
/// both processes know.
mod certificates {
    use std::path::PathBuf;
    use std::{env, fs};

    use anyhow::Result;
    use ostrakon_tls::Files;

    pub(super) fn of(name: &str) -> Result<Files> {
        let dir = env::temp_dir().join(format!("ostrakon-bench-{}", super::certificates_owner()));
        if !dir.exists() {
            make(&dir)?;
        }
        Ok(Files::in_dir(dir, name))
    }

    fn make(_dir: &PathBuf) -> Result<()> {
        fs::create_dir_all(_dir)?;
        anyhow::bail!("not yet")
    }
}

fn certificates_owner() -> u32 {
    std::process::id()
}
