//! coerce: sharded actors, of which only those on the other node are called.
//!
//! The only other sharding in Rust. Its coordinator spreads the shards over both
//! nodes, so every entity is asked once where it lives, and takes another name
//! until that is the server. It never sets TCP_NODELAY.

use std::collections::HashMap;
use std::net::TcpListener;
use std::process;

use anyhow::{Context, Result, bail};
use coerce::actor::context::ActorContext;
use coerce::actor::message::{Handler, Message, MessageUnwrapErr, MessageWrapErr};
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, ActorCreationErr, ActorFactory};
use coerce::persistent::Persistence;
use coerce::persistent::journal::provider::inmemory::InMemoryStorageProvider;
use coerce::remote::net::server::RemoteServer;
use coerce::remote::system::RemoteActorSystem;
use coerce::sharding::{Sharded, Sharding};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tonic::codegen::async_trait;

use super::{Address, Body, Remote, plain};
use crate::contenders::Counter;
use crate::measure::Link;

/// How many names an entity may try before it lives on the server.
const NAMES: u32 = 64;

/// A node and its handles to entities on the other.
pub(crate) struct Coerce {
    by_id: HashMap<String, Sharded<Host>>,
    _node: Node,
}

/// What keeps a node going.
pub(crate) struct Node {
    sharding: Sharding<Hosts>,
    _server: RemoteServer,
}

/// The actor.
pub(crate) struct Host(Counter);

#[derive(Clone)]
pub(crate) struct Hosts;

/// Answered with a body.
struct Ask(Body);
/// Answered with the id of the process.
struct Where;

impl Actor for Host {}

#[async_trait]
impl ActorFactory for Hosts {
    type Actor = Host;
    type Recipe = ();

    async fn create(&self, _recipe: ()) -> Result<Host, ActorCreationErr> {
        Ok(Host(Counter::default()))
    }
}

impl Message for Ask {
    type Result = Body;

    fn as_bytes(&self) -> Result<Vec<u8>, MessageWrapErr> {
        Ok(self.0.bytes().to_vec())
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, MessageUnwrapErr> {
        Ok(Self(bytes.into()))
    }

    fn read_remote_result(bytes: Vec<u8>) -> Result<Body, MessageUnwrapErr> {
        Ok(bytes.into())
    }

    fn write_remote_result(body: Body) -> Result<Vec<u8>, MessageWrapErr> {
        Ok(body.into())
    }
}

impl Message for Where {
    type Result = u32;

    fn as_bytes(&self) -> Result<Vec<u8>, MessageWrapErr> {
        Ok(Vec::new())
    }

    fn from_bytes(_bytes: Vec<u8>) -> Result<Self, MessageUnwrapErr> {
        Ok(Self)
    }

    fn read_remote_result(bytes: Vec<u8>) -> Result<u32, MessageUnwrapErr> {
        let bytes = bytes.try_into();
        let bytes = bytes.map_err(|_| MessageUnwrapErr::DeserializationErr)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn write_remote_result(process: u32) -> Result<Vec<u8>, MessageWrapErr> {
        Ok(process.to_le_bytes().to_vec())
    }
}

#[async_trait]
impl Handler<Ask> for Host {
    async fn handle(&mut self, Ask(body): Ask, _context: &mut ActorContext) -> Body {
        self.0.answer_body(body.bytes())
    }
}

#[async_trait]
impl Handler<Where> for Host {
    async fn handle(&mut self, _where: Where, _context: &mut ActorContext) -> u32 {
        process::id()
    }
}

impl Remote for Coerce {
    type Host = Node;

    async fn serve(link: Link) -> Result<(String, Node)> {
        plain(link)?;
        let address = free_address()?;
        let node = Node::start(1, &address, None).await?;
        Ok((address, node))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        plain(link)?;
        let node = Node::start(2, &free_address()?, Some(address)).await?;
        let mut by_id = HashMap::new();
        for address in Address::all() {
            let entity = node.find_remote(&address.id).await?;
            by_id.insert(address.id, entity);
        }
        Ok(Self { by_id, _node: node })
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let entity = self.by_id.get(&entity.id).context("no such entity")?;
        Ok(entity.send(Ask(body)).await?)
    }

    async fn tell(&self, _entity: &Address, _body: Body) -> Result<()> {
        bail!("a sharded actor cannot be told anything, only asked")
    }
}

impl Node {
    async fn start(id: u64, address: &str, seed: Option<&str>) -> Result<Self> {
        let runtime = Handle::current();
        // What builds a system cannot go from one thread to another.
        let system = spawn_blocking(move || runtime.block_on(system(id))).await?;
        let mut worker = system.clone().cluster_worker().listen_addr(address);
        if let Some(seed) = seed {
            worker = worker.with_seed_addr(seed);
        }
        let server = worker.start().await;
        Ok(Self {
            sharding: Sharding::builder(system).build().await,
            _server: server,
        })
    }

    async fn find_remote(&self, id: &str) -> Result<Sharded<Host>> {
        for name in 0..NAMES {
            let entity = self.sharding.get(format!("{id}-{name}"), Some(()));
            if entity.send(Where).await? != process::id() {
                return Ok(entity);
            }
        }
        bail!("{id} lives on this node under every name")
    }
}

async fn system(id: u64) -> RemoteActorSystem {
    let storage = Persistence::from(InMemoryStorageProvider::new());
    RemoteActorSystem::builder()
        .with_actor_system(ActorSystem::new().to_persistent(storage))
        .with_tag(format!("node-{id}"))
        .with_id(id)
        .with_actors(|actors| {
            actors
                .with_actor(Hosts)
                .with_handler::<Host, Ask>("ask")
                .with_handler::<Host, Where>("where")
        })
        .configure(coerce::sharding::sharding)
        .build()
        .await
}

/// The node takes the address only as a text, so the port is let go in between.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
