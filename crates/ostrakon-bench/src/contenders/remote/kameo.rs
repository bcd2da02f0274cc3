//! kameo: one actor on the server, found in the distributed registry.
//!
//! Over libp2p on TCP with noise and yamux, without which kameo does not do. Each
//! message is a stream of its own, so tells overtake each other unless each waits
//! for its acknowledgment; they do.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use kameo::actor::{Actor, ActorRef, RemoteActorRef, Spawn};
use kameo::message::{Context, Message};
use kameo::remote::{Behaviour, messaging};
use kameo::remote_message;
use kameo::{RemoteActor, Reply};
use libp2p::multiaddr::Protocol;
use libp2p::swarm::SwarmEvent;
use libp2p::{Multiaddr, Swarm, SwarmBuilder, noise, tcp, yamux};
use serde::{Deserialize, Serialize};
use tokio_stream::StreamExt;

use super::{Address, Body, Remote, plain};
use crate::contenders::Counter;
use crate::measure::Link;

const ACTOR: &str = "bench";
/// More than are ever in flight; the default is 100. The transport has a bound of
/// its own, 512, that cannot be raised without falling back to an older yamux.
const STREAMS: usize = 4096;
/// Between two looks into the registry.
const PATIENCE: Duration = Duration::from_millis(20);

/// The actor in the other process.
pub(crate) struct Kameo {
    host: RemoteActorRef<Host>,
}

/// The actor.
#[derive(RemoteActor)]
pub(crate) struct Host(Counter);

/// An id goes along although there is only one actor.
#[derive(Serialize, Deserialize)]
struct Tell(String, Body);
#[derive(Serialize, Deserialize)]
struct Ask(String, Body);
#[derive(Serialize, Deserialize, Reply)]
struct Answer(Body);

impl Actor for Host {
    type Args = Counter;
    type Error = Infallible;

    async fn on_start(counter: Counter, _myself: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(Self(counter))
    }
}

#[remote_message]
impl Message<Tell> for Host {
    type Reply = ();

    async fn handle(&mut self, Tell(_id, body): Tell, _context: &mut Context<Self, ()>) {
        self.0.add_body(body.bytes());
    }
}

#[remote_message]
impl Message<Ask> for Host {
    type Reply = Answer;

    async fn handle(
        &mut self,
        Ask(_id, body): Ask,
        _context: &mut Context<Self, Answer>,
    ) -> Answer {
        Answer(self.0.answer_body(body.bytes()))
    }
}

impl Remote for Kameo {
    const APART: u64 = 1;

    type Host = ActorRef<Host>;

    async fn serve(link: Link) -> Result<(String, Self::Host)> {
        plain(link)?;
        let mut swarm = swarm()?;
        swarm.listen_on("/ip4/127.0.0.1/tcp/0".parse()?)?;
        let address = loop {
            let event = swarm.next().await.context("swarm is gone")?;
            if let SwarmEvent::NewListenAddr { address, .. } = event {
                break address.with(Protocol::P2p(*swarm.local_peer_id()));
            }
        };
        tokio::spawn(run(swarm));
        let host = Host::spawn(Counter::default());
        host.register(ACTOR).await?;
        Ok((address.to_string(), host))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        plain(link)?;
        let mut swarm = swarm()?;
        let address = address.parse::<Multiaddr>()?;
        let Some(Protocol::P2p(server)) = address.iter().last() else {
            bail!("an address without a peer");
        };
        swarm.add_peer_address(server, address.clone());
        swarm.dial(address)?;
        tokio::spawn(run(swarm));
        // Found once the two have met; nothing tells when that is.
        loop {
            if let Some(host) = RemoteActorRef::lookup(ACTOR).await? {
                return Ok(Self { host });
            }
            tokio::time::sleep(PATIENCE).await;
        }
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let ask = Ask(entity.id.clone(), body);
        let answered = self.host.ask(&ask).await;
        let Answer(body) = answered.map_err(|error| anyhow!("{error}"))?;
        Ok(body)
    }

    async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        let tell = Tell(entity.id.clone(), body);
        let told = self.host.tell(&tell).send_ack().await;
        told.map_err(|error| anyhow!("{error}"))
    }
}

fn swarm() -> Result<Swarm<Behaviour>> {
    let swarm = SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(
            tcp::Config::default().nodelay(true),
            noise::Config::new,
            yamux::Config::default,
        )?
        .with_behaviour(|key| {
            let config = messaging::Config::default().with_max_concurrent_streams(STREAMS);
            Behaviour::new(key.public().to_peer_id(), config)
        })?
        .with_swarm_config(|config| config.with_idle_connection_timeout(Duration::from_secs(600)))
        .build();
    swarm.behaviour().try_init_global()?;
    Ok(swarm)
}

async fn run(mut swarm: Swarm<Behaviour>) {
    while swarm.next().await.is_some() {}
}
