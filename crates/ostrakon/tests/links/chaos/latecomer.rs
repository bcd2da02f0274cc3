//! A connection whose handshake is held up until another one has taken its place: what was sent on it must not be handled any more,
//! since newer messages have been.

use std::time::Duration;

use ostrakon::{
    Limits, Outcome,
    testing::{self, Fixed},
};
use ostrakon_faults::{Direction, Proxy};

use crate::{
    cluster::{Cluster, SOON, builder},
    ledger::Ledger,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_comes_late_does_not_bring_back_old_messages() {
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2"] {
        let fixed = Fixed {
            limits: Limits::default()
                .heartbeat(Duration::from_millis(50), Duration::from_millis(400))
                // Far longer than the test, so that the late connection is still welcome.
                .handshake(Duration::from_secs(60)),
            ..Fixed::plain()
        };
        nodes.push(builder(name).fixed(fixed).start().await.unwrap());
    }
    let (one, two) = (nodes[0].clone(), nodes[1].clone());
    let cluster = Cluster::connect(nodes).await;
    let outer = Proxy::to(testing::address(&two)).unwrap();
    let inner = Proxy::to(outer.address()).unwrap();
    testing::introduce(&one, "node-2", &inner.address().to_string());
    let ledger = one.entity::<Ledger>(cluster.id_on(1));

    // The first connection: two has heard who dials; what follows, with the first message, is held up.
    inner.stall_towards(Direction::ToClient);
    let first = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.add(1).await }
    });
    inner.until(|mischief| mischief.stalls == 1).await;
    outer.stall_towards(Direction::ToTarget);
    inner.pass();
    // One hears nothing and gives up.
    let first = tokio::time::timeout(SOON, first).await.unwrap().unwrap();
    assert_eq!(first.unwrap_err().outcome(), Outcome::Unknown);

    // The second connection, past the proxies.
    let address = testing::address(&two).to_string();
    testing::introduce(&one, "node-2", &address);
    assert_eq!(ledger.add(2).await.unwrap(), 1);

    // Now the rest of the first one arrives. How much of it is read is up to two, which may close it.
    let held = outer.bytes(Direction::ToTarget);
    outer.pass();
    let flows = async {
        while outer.bytes(Direction::ToTarget) == held {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, flows).await.unwrap();
    // Each of these is a turn of the other node, which has that much time to make the mistake.
    for _ in 0..100 {
        assert_eq!(ledger.entries().await.unwrap(), [2]);
    }
    cluster.leave().await;
}
