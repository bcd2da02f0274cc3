//! tonic: one bidirectional stream of batches in front of the mailboxes of
//! `framed`.
//!
//! The path is that of `framed`, only that HTTP/2 and protobuf carry it, so the
//! difference is theirs. Messages and service are written out by hand: there are
//! two of the one and a single method of the other.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::StreamingService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Response, Status, Streaming, client, server};
use tonic_prost::ProstCodec;

use super::mailbox::{Answer, Mail, Mailboxes};
use super::waiting::Waiting;
use super::{Address, Body, Remote, plain};
use crate::measure::Link;

/// Messages that wait for the stream.
const QUEUE: usize = 1024;
/// How many of them it takes at a time.
const BATCH: usize = 64;

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(uint64, tag = "1")]
    seq: u64,
    #[prost(uint32, tag = "2")]
    shard: u32,
    #[prost(string, tag = "3")]
    id: String,
    #[prost(bytes = "vec", tag = "4")]
    body: Vec<u8>,
    /// Whether an answer is wanted.
    #[prost(bool, tag = "5")]
    ask: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Requests {
    #[prost(message, repeated, tag = "1")]
    batch: Vec<Request>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Reply {
    #[prost(uint64, tag = "1")]
    seq: u64,
    #[prost(bytes = "vec", tag = "2")]
    body: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Replies {
    #[prost(message, repeated, tag = "1")]
    batch: Vec<Reply>,
}

/// The client end of the stream.
pub(crate) struct Tonic {
    requests: mpsc::Sender<Request>,
    waiting: Arc<Waiting>,
}

impl Remote for Tonic {
    type Host = ();

    async fn serve(link: Link) -> Result<(String, ())> {
        plain(link)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let entities = Entities(Arc::new(Mailboxes::open()));
        tokio::spawn(Server::builder().serve_with_incoming(entities, incoming));
        Ok((address, ()))
    }

    async fn connect(address: &str, link: Link) -> Result<Self> {
        plain(link)?;
        let endpoint = Endpoint::from_shared(address.to_owned())?;
        let channel = endpoint.tcp_nodelay(true).connect().await?;
        let (requests, queue) = mpsc::channel(QUEUE);
        let replies = open(channel, queue).await?;
        let waiting = Arc::<Waiting>::default();
        tokio::spawn(answer(replies, waiting.clone()));
        Ok(Self { requests, waiting })
    }

    async fn ask(&self, entity: &Address, body: Body) -> Result<Body> {
        let (seq, answer) = self.waiting.enter();
        let ask = true;
        self.send(
            entity,
            body,
            Request {
                seq,
                ask,
                ..Request::default()
            },
        )
        .await?;
        answer.await.context("stream is gone")
    }

    async fn tell(&self, entity: &Address, body: Body) -> Result<()> {
        self.send(entity, body, Request::default()).await
    }
}

impl Tonic {
    async fn send(&self, entity: &Address, body: Body, request: Request) -> Result<()> {
        let request = Request {
            shard: entity.shard,
            id: entity.id.clone(),
            body: body.into(),
            ..request
        };
        let sent = self.requests.send(request).await;
        sent.ok().context("stream is gone")
    }
}

async fn open(channel: Channel, queue: mpsc::Receiver<Request>) -> Result<Streaming<Replies>> {
    let requests = Batches {
        queue,
        wrap: |batch| Requests { batch },
    };
    let mut grpc = client::Grpc::new(channel);
    grpc.ready().await?;
    let path = PathAndQuery::from_static("/bench.Entities/Exchange");
    let codec = ProstCodec::<Requests, Replies>::default();
    let opened = grpc.streaming(tonic::Request::new(requests), path, codec);
    Ok(opened.await?.into_inner())
}

async fn answer(mut replies: Streaming<Replies>, waiting: Arc<Waiting>) {
    while let Ok(Some(replies)) = replies.message().await {
        for reply in replies.batch {
            if let Some(caller) = waiting.leave(reply.seq) {
                // The caller may have given up; that is its own affair.
                drop(caller.send(reply.body.into()));
            }
        }
    }
    waiting.close();
}

/// A channel as a stream of all that is ready, up to a bound.
struct Batches<T, M> {
    queue: mpsc::Receiver<T>,
    wrap: fn(Vec<T>) -> M,
}

impl<T, M> Stream for Batches<T, M> {
    type Item = M;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<M>> {
        let mut batch = Vec::with_capacity(BATCH);
        let polled = self.queue.poll_recv_many(context, &mut batch, BATCH);
        polled.map(|count| (count > 0).then(|| (self.wrap)(batch)))
    }
}

/// The service: a single method, whatever its path.
#[derive(Clone)]
struct Entities(Arc<Mailboxes>);

impl Service<http::Request<tonic::body::Body>> for Entities {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let exchange = self.clone();
        Box::pin(async move {
            let codec = ProstCodec::<Replies, Requests>::default();
            Ok(server::Grpc::new(codec).streaming(exchange, request).await)
        })
    }
}

impl StreamingService<Requests> for Entities {
    type Response = Replies;
    type ResponseStream = Batches<Answer, Result<Replies, Status>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Requests>>) -> Self::Future {
        let (replies, queue) = mpsc::channel(QUEUE);
        tokio::spawn(deliver(request.into_inner(), self.0.clone(), replies));
        ready(Ok(Response::new(Batches {
            queue,
            wrap: |answers| Ok(wrap(answers)),
        })))
    }
}

/// Ends with the stream or with a message that cannot be delivered; either way
/// the client sees its own end of it close.
async fn deliver(
    mut requests: Streaming<Requests>,
    mailboxes: Arc<Mailboxes>,
    replies: mpsc::Sender<Answer>,
) -> Result<()> {
    while let Some(requests) = requests.message().await? {
        for request in requests.batch {
            let reply = request.ask.then(|| (request.seq, replies.clone()));
            let body = request.body.into();
            mailboxes.deliver(&request.id, Mail { body, reply }).await?;
        }
    }
    Ok(())
}

fn wrap(answers: Vec<Answer>) -> Replies {
    let replies = answers.into_iter().map(|answer| Reply {
        seq: answer.seq,
        body: answer.body.into(),
    });
    Replies {
        batch: replies.collect(),
    }
}
