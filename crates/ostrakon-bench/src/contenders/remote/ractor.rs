//! ractor_cluster: one actor on the server, found through a process group.
//!
//! Nodes are plain TCP without encryption; the bodies are bytes already, so that
//! only its own envelope is encoded.

use anyhow::{Context, Result, bail};
use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, pg};
use ractor_cluster::node::NodeServerSessionInformation;
use ractor_cluster::{
    NetworkStream, NodeEventSubscription, NodeServer, NodeServerMessage, RactorClusterMessage,
    client_connect,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::{Address, Body, Remote, plain};
use crate::contenders::Counter;
use crate::measure::Link;

const GROUP: &str = "bench";
const COOKIE: &str = "bench";

/// A node connected to the one with the actor.
pub(crate) struct Ractor {
    host: ActorRef<Message>,
    _node: ActorRef<NodeServerMessage>,
}

/// What the actor receives; an id goes along although there is only one actor.
#[derive(RactorClusterMessage)]
pub(crate) enum Message {
    Tell(String, Vec<u8>),
    #[rpc]
    Ask(String, Vec<u8>, RpcReplyPort<Vec<u8>>),
}

/// The actor; ractor keeps its state beside it.
struct Host;

impl Actor for Host {
    type Msg = Message;
    type State = Counter;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<Message>,
        _arguments: (),
    ) -> Result<Counter, ActorProcessingErr> {
        Ok(Counter::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Message>,
        message: Message,
        counter: &mut Counter,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Tell(_id, body) => counter.add_body(&body),
            Message::Ask(_id, body, reply) => {
                // The caller may have given up; that is its own affair.
                drop(reply.send(counter.answer_body(&body).into()));
            }
        }
        Ok(())
    }
}

impl Remote for Ractor {
    const APART: u64 = 1;

    type Host = (ActorRef<Message>, ActorRef<NodeServerMessage>);

    async fn serve(link: Link) -> Result<(String, Self::Host)> {
        plain(link)?;
        let (host, _task) = Actor::spawn(None, Host, ()).await?;
        pg::join(GROUP.to_owned(), vec![host.get_cell()]);
        let node = node("server").await?;
        // Its own listener does not tell which port it got.
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        tokio::spawn(accept(listener, node.clone()));
        Ok((address, (host, node)))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        plain(link)?;
        let node = node("client").await?;
        let (ready, mut wait_until_ready) = mpsc::unbounded_channel();
        node.cast(NodeServerMessage::SubscribeToEvents {
            id: "ready".to_owned(),
            subscription: Box::new(Ready(ready)),
        })?;
        client_connect(&node, address).await?;
        wait_until_ready.recv().await.context("node is gone")?;
        let members = pg::get_members(&GROUP.to_owned());
        let host = members
            .into_iter()
            .next()
            .context("no actor in the group")?;
        Ok(Self {
            host: host.into(),
            _node: node,
        })
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let ask = |reply| Message::Ask(entity.id.clone(), body.into(), reply);
        match self.host.call(ask, None).await {
            Ok(CallResult::Success(answer)) => Ok(answer.into()),
            Ok(CallResult::Timeout | CallResult::SenderError) | Err(_) => bail!("actor is gone"),
        }
    }

    async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        let told = self
            .host
            .cast(Message::Tell(entity.id.clone(), body.into()));
        told.ok().context("actor is gone")
    }
}

async fn node(name: &str) -> Result<ActorRef<NodeServerMessage>> {
    let (name, host) = (name.to_owned(), "localhost".to_owned());
    let server = NodeServer::new(0, COOKIE.to_owned(), name, host, None, None);
    Ok(Actor::spawn(None, server, ()).await?.0)
}

/// What the listener of a node does.
async fn accept(listener: TcpListener, node: ActorRef<NodeServerMessage>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        node.cast(NodeServerMessage::ConnectionOpened {
            stream: Box::new(network_stream(stream)?),
            is_server: true,
        })?;
    }
}

fn network_stream(stream: TcpStream) -> Result<NetworkStream> {
    stream.set_nodelay(true)?;
    Ok(NetworkStream::Raw {
        peer_addr: stream.peer_addr()?,
        local_addr: stream.local_addr()?,
        stream,
    })
}

/// Says when the nodes have told each other about their groups.
struct Ready(mpsc::UnboundedSender<()>);

impl NodeEventSubscription for Ready {
    fn node_session_opened(&self, _session: NodeServerSessionInformation) {}

    fn node_session_disconnected(&self, _session: NodeServerSessionInformation) {}

    fn node_session_authenticated(&self, _session: NodeServerSessionInformation) {}

    fn node_session_ready(&self, _session: NodeServerSessionInformation) {
        // Nobody may be waiting any more.
        let _ = self.0.send(());
    }
}
