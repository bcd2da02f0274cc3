//! Peers that say what no peer should. The connection ends with a reason, or lives on; the node and its other peers do not notice.

#[path = "bad_input/conversations.rs"]
mod conversations;
#[path = "bad_input/greed.rs"]
mod greed;
#[path = "bad_input/openings.rs"]
mod openings;

use std::{
    net::SocketAddr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use ostrakon::{
    Limits,
    testing::{self, Fixed},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    cluster::{Cluster, SOON, builder},
    handshakes::stranger::{Hello, Letter, Said, Stranger},
    ledger::{Ledger, LedgerRef},
};

/// Two nodes that talk to each other, while strangers try their luck with the first.
struct Victim {
    cluster: Cluster,
    address: SocketAddr,
    panics: usize,
}

impl Victim {
    async fn new() -> Self {
        Self::within(Limits::default()).await
    }

    async fn within(limits: Limits) -> Self {
        let fixed = Fixed {
            limits,
            ..Fixed::plain()
        };
        let nodes = vec![
            builder("node-1").fixed(fixed).start().await.unwrap(),
            builder("node-2")
                .fixed(Fixed::plain())
                .start()
                .await
                .unwrap(),
        ];
        let address = testing::address(&nodes[0]);
        let victim = Self {
            cluster: Cluster::connect(nodes).await,
            address,
            panics: panics(),
        };
        victim.is_well().await;
        victim
    }

    /// The victim's entity, as its healthy peer reaches it.
    fn ledger(&self) -> LedgerRef {
        self.cluster.nodes[1].entity::<Ledger>(self.cluster.id_on(0))
    }

    async fn is_well(&self) {
        let asked = tokio::time::timeout(SOON, self.ledger().entries()).await;
        asked.expect("a healthy peer is answered").unwrap();
        let back = self.cluster.nodes[0].entity::<Ledger>(self.cluster.id_on(1));
        back.entries().await.unwrap();
        assert_eq!(panics(), self.panics);
    }

    async fn enter(&self) -> Stranger {
        Stranger::enter(self.address, &Hello::to("node-1")).await
    }

    /// A stranger says this after the handshake; the connection ends, with a reason.
    async fn ends(&self, said: &[u8], reason: &str) {
        let mut stranger = self.enter().await;
        stranger.say(said).await;
        let words = stranger.last_words().await;
        assert!(words.contains(reason), "{words:?} instead of {reason:?}");
        self.is_well().await;
    }

    fn letter(&self, request: u64, said: &Said) -> Letter {
        let id = self.cluster.ids_on(0).nth(1).unwrap();
        Letter::ask(request, self.cluster.shard(&id), &id, said)
    }

    fn add(&self, request: u64) -> Letter {
        let reply = Some(0);
        self.letter(request, &Said::Add { entry: 1, reply })
    }

    async fn leave(self) {
        self.is_well().await;
        self.cluster.leave().await;
    }

    /// The last stranger goes, too: a node that leaves waits a moment for those who stay.
    async fn leave_with<S>(self, stranger: S) {
        drop(stranger);
        self.leave().await;
    }
}

/// How often the code of the links has panicked in this process.
fn panics() -> usize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    static HOOKED: OnceLock<()> = OnceLock::new();
    HOOKED.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_ours = |file: &str| file.contains("src/link") || file.contains("src/stream");
            if info.location().is_some_and(|at| is_ours(at.file())) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(info);
        }));
    });
    PANICS.load(Ordering::SeqCst)
}
