//! `Members`: nodes of this process with something to do, which serve their metrics as docs/observability.md says.

use std::{net::TcpListener, sync::Arc, time::Duration};

use metrics_exporter_prometheus::PrometheusBuilder;
use ostrakon::{Context, Failure, Node, entity};
use ostrakon_admin::{Admin, AdminSettings};
use tokio::runtime::Runtime;

/// One that is called `broken` does not start.
#[derive(Default)]
struct Tally(u64);

#[entity(kind = "tally")]
impl Tally {
    #[start]
    async fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match ctx.id().as_str() {
            "broken" => Err(Failure::from("it does not start")),
            _ => Ok(()),
        }
    }

    async fn add(&mut self, amount: u64) -> u64 {
        self.0 += amount;
        self.0
    }
}

/// Two peers that work until this is dropped.
pub(crate) struct Members {
    admin: Admin,
    _runtime: Runtime,
}

impl Members {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let admin = runtime.block_on(begin());
        let _runtime = runtime;
        Self { admin, _runtime }
    }

    /// Where their metrics are.
    pub(crate) fn address(&self) -> String {
        self.admin.address().to_string()
    }
}

async fn begin() -> Admin {
    let metrics = PrometheusBuilder::new().install_recorder();
    let metrics = metrics.expect("this is the only recorder of the process");
    let at = [free_address(), free_address()];
    let start = |name, own: &str| {
        let builder = Node::builder(name).peers(own, at.iter().map(String::as_str));
        tokio::spawn(builder.host::<Tally>().start())
    };
    let (first, second) = (start("node-1", &at[0]), start("node-2", &at[1]));
    let first = first.await.expect("it ends").expect("it starts");
    let second = second.await.expect("it ends").expect("it starts");
    let desk = first.desk().expect("a peer has one").clone();
    for node in [first, second] {
        tokio::spawn(work(node));
    }
    let settings = AdminSettings {
        metrics: Some(Arc::new(move || metrics.render())),
        ..AdminSettings::default()
    };
    Admin::start(desk, settings).await.expect("a free port")
}

/// Asks entities here and there. Early ones may fail until all shards have an owner.
async fn work(node: Node) {
    let mut times = tokio::time::interval(Duration::from_millis(2));
    for number in 0_u64.. {
        times.tick().await;
        let _ = node
            .entity::<Tally>(format!("tally-{}", number % 50))
            .add(1)
            .await;
        if number.is_multiple_of(500) {
            let _ = node.entity::<Tally>("broken").tell().add(1).await;
        }
    }
}

/// A free port of this machine. Somebody else could take it meanwhile; nobody does here.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").to_string()
}
