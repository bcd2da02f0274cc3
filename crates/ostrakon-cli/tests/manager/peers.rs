//! Nodes of this process that look after their cluster themselves.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use ostrakon::{AskError, Context, Node, Quorum, entity};
use tokio::runtime::Runtime;

/// Says on which node it lives.
#[derive(Default)]
pub(crate) struct Resident;

#[entity(kind = "resident")]
impl Resident {
    pub(crate) async fn home(&mut self, ctx: &Context<Self>) -> String {
        ctx.node().name().to_string()
    }
}

/// Nodes, with a runtime to live in.
pub(crate) struct PeerNodes {
    pub(crate) runtime: Runtime,
    pub(crate) nodes: Vec<Node>,
    pub(crate) addresses: Vec<String>,
}

impl PeerNodes {
    /// So many nodes, `node-1` and so on, which find each other.
    pub(crate) fn start(number: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let addresses: Vec<String> = (0..number).map(|_| free_address()).collect();
        let starting = (1..).zip(&addresses).map(|(number, at)| {
            let builder = Node::builder(format!("node-{number}"))
                .peers(at, addresses.iter().map(String::as_str))
                .host::<Resident>();
            runtime.spawn(builder.start())
        });
        let starting: Vec<_> = starting.collect();
        let nodes = starting.into_iter();
        let nodes = nodes.map(|node| runtime.block_on(node).unwrap().unwrap());
        Self {
            nodes: nodes.collect(),
            runtime,
            addresses,
        }
    }

    /// Waits until a node sees those who vote as wanted.
    pub(crate) fn until(&self, node: usize, what: &str, wanted: impl Fn(&Quorum) -> bool) {
        let began = Instant::now();
        loop {
            let quorum = self.nodes[node].desk().unwrap().quorum();
            if wanted(&quorum) {
                return;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{what} did not happen in time: {quorum:?}"
            );
            std::thread::yield_now();
        }
    }

    /// Which node leads.
    pub(crate) fn leader(&self) -> usize {
        self.until(0, "somebody leads", |quorum| quorum.leader.is_some());
        let leads = |node: &Node| *node.leading().unwrap().borrow();
        self.nodes.iter().position(leads).unwrap()
    }

    /// The node ends without a word.
    pub(crate) fn lose(&mut self, node: usize) {
        let lost = self.nodes.remove(node);
        self.runtime.block_on(async move { drop(lost) });
    }

    pub(crate) fn visit(&self, node: usize, resident: usize) -> Result<String, AskError> {
        let resident = self.nodes[node].entity::<Resident>(format!("resident-{resident}"));
        self.runtime.block_on(resident.home())
    }

    /// Visits these at once.
    pub(crate) fn visit_all(
        &self,
        node: usize,
        residents: &[usize],
    ) -> Vec<Result<String, AskError>> {
        let visit = |resident: &usize| {
            let resident = self.nodes[node].entity::<Resident>(format!("resident-{resident}"));
            async move { resident.home().await }
        };
        let visits = futures_util::future::join_all(residents.iter().map(visit));
        self.runtime.block_on(visits)
    }

    /// Where so many entities live, however long it takes until they answer.
    pub(crate) fn homes(&self, from: usize, number: usize) -> Vec<String> {
        let began = Instant::now();
        let home = |resident| {
            loop {
                match self.visit(from, resident) {
                    Ok(home) => return home,
                    Err(error) => assert!(
                        began.elapsed() < Duration::from_secs(30),
                        "resident {resident} does not answer: {error}"
                    ),
                }
            }
        };
        (0..number).map(home).collect()
    }
}

/// A free port of this machine. Somebody else could take it meanwhile; nobody does here.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
