//! A web service on a cluster: any of its nodes can be asked for any counter, and there is one of each.
//!
//! ```sh
//! cargo run -p http-counter                        # two nodes in this process; prints where they serve, say at 40001 and 40002
//! curl -X POST http://127.0.0.1:40001/counters/visits
//! curl http://127.0.0.1:40002/counters/visits
//! ```
//!
//! With managers, and one node in each process, if the environment says so: see `settings.rs`. That is what the manifests in
//! `deploy/kubernetes` run. With traces, if it names a collector: see `traces.rs`.

mod settings;
mod traces;

use std::{io, time::Duration};

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use ostrakon::{AskError, GroupName, MemberStatus, Node, NodeBuilder, Outcome, TellError, entity};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::settings::{Role, Settings};

/// How long requests may take to end when the service has been told to.
const LAST_REQUESTS: Duration = Duration::from_secs(10);
/// Any port that is free.
const ANYWHERE: &str = "127.0.0.1:0";

#[derive(Default)]
struct Counter {
    value: u64,
}

#[entity(kind = "counter")]
impl Counter {
    async fn increment(&mut self) -> u64 {
        self.value += 1;
        self.value
    }

    async fn value(&self) -> u64 {
        self.value
    }
}

fn routes(node: Node) -> Router {
    Router::new()
        .route("/counters/{name}", get(value).post(increment))
        .layer(middleware::from_fn(traces::traced))
        .route("/live", get(|| async { "ok\n" }))
        .route("/ready", get(ready))
        .with_state(node)
}

/// A ref costs nothing: each request makes its own.
async fn increment(
    State(node): State<Node>,
    Path(name): Path<String>,
) -> Result<String, Unanswered> {
    let value = node.entity::<Counter>(name).increment().await?;
    Ok(format!("{value}\n"))
}

async fn value(State(node): State<Node>, Path(name): Path<String>) -> Result<String, Unanswered> {
    let value = node.entity::<Counter>(name).value().await?;
    Ok(format!("{value}\n"))
}

/// Whether there is anybody to ask, be it this node itself.
async fn ready(State(node): State<Node>) -> StatusCode {
    let members = node.topology().members;
    match members
        .iter()
        .any(|member| member.status == MemberStatus::Up)
    {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// An error says whether the message may have been executed; so does the status.
struct Unanswered(AskError);

impl IntoResponse for Unanswered {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let is_bad_name = matches!(&error, AskError::NotSent(TellError::InvalidId(_)));
        let status = match error.outcome() {
            Outcome::NotExecuted if is_bad_name => StatusCode::BAD_REQUEST,
            // Whoever asks may ask again.
            Outcome::NotExecuted if error.is_retryable() => StatusCode::SERVICE_UNAVAILABLE,
            // It may have been counted.
            Outcome::Unknown => StatusCode::GATEWAY_TIMEOUT,
            Outcome::NotExecuted | Outcome::Executed | Outcome::FailedInHandler => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, format!("{error}\n")).into_response()
    }
}

impl From<AskError> for Unanswered {
    fn from(error: AskError) -> Self {
        Self(error)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stop = stop_signal()?;
    let traces = traces::begin()?;
    run(stop).await?;
    if let Some(traces) = traces {
        traces.end().await?;
    }
    Ok(())
}

async fn run(stop: watch::Receiver<bool>) -> anyhow::Result<()> {
    if let Some(settings) = Settings::from_environment()? {
        let node = Node::builder(settings.name).managed(settings.managed);
        let node = match settings.role {
            Role::Node => node.host::<Counter>(),
            Role::Client => node.reach::<Counter>(GroupName::default()),
        };
        return serve(node, &settings.http, stop).await;
    }
    let node = |name, at| {
        let node = Node::builder(name).peers(at, ["127.0.0.1:25590", "127.0.0.1:25591"]);
        node.host::<Counter>()
    };
    tokio::try_join!(
        serve(node("node-1", "127.0.0.1:25590"), ANYWHERE, stop.clone()),
        serve(node("node-2", "127.0.0.1:25591"), ANYWHERE, stop)
    )?;
    Ok(())
}

/// Serves until told to stop: then answers what was asked, gives its counters to other nodes, and goes.
async fn serve(node: NodeBuilder, at: &str, mut stop: watch::Receiver<bool>) -> anyhow::Result<()> {
    let node = node.start().await?;
    let listener = TcpListener::bind(at).await?;
    println!("{} serves http://{}", node.name(), listener.local_addr()?);
    let mut late = stop.clone();
    let late = async {
        let _ = late.wait_for(|stop| *stop).await;
        tokio::time::sleep(LAST_REQUESTS).await;
    };
    let service = axum::serve(listener, routes(node.clone()));
    let service = service.with_graceful_shutdown(async move {
        let _ = stop.wait_for(|stop| *stop).await;
    });
    tokio::select! {
        served = service => served?,
        () = late => {}
    }
    node.leave().await?;
    println!("{} has left", node.name());
    Ok(())
}

/// From here on a signal does not end the process at once.
fn stop_signal() -> io::Result<watch::Receiver<bool>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (tell, told) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tell.send_replace(true);
    });
    Ok(told)
}
