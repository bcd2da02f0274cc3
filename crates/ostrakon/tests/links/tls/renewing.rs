//! Certificates that are replaced while their node runs.

use super::*;

/// Lets the nodes look at their certificates now.
async fn look_at_files() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn renewed_certificates_are_used_by_new_connections_while_old_ones_live_on() {
    let log = Log::listen();
    let mut office = Office::new();
    let cluster = office.two_nodes().await;
    let proxy = Proxy::to(testing::address(&cluster.nodes[1])).unwrap();
    testing::introduce(&cluster.nodes[0], "node-2", &proxy.address().to_string());
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    ledger.add(1).await.unwrap();
    tokio::time::timeout(SOON, proxy.connected(2))
        .await
        .unwrap();

    // A new authority, which both trust beside the old one, issues everything again.
    let old = std::mem::replace(&mut office.authority, authority("test"));
    office.trust(&[&old, &office.authority]);
    for node in ["node-1", "node-2"] {
        office.issue(Role::Node, node);
    }
    look_at_files().await;
    for node in ["node-1", "node-2"] {
        let identity = format!("identity=ostrakon://test/node/{node}");
        log.says(&["a new certificate is in use", &identity]).await;
    }
    assert_eq!(ledger.add(2).await.unwrap(), 2);
    assert_eq!(proxy.connections(), 2, "the old connection lives on");

    // Whoever trusts only the new authority is served with the new certificate.
    let newcomer = office.issue(Role::Node, "stranger");
    let hello = Hello::to("node-2");
    office.trust(&[&office.authority]);
    let address = testing::address(&cluster.nodes[1]);
    let judged = shows(newcomer, address, &hello).await;
    assert_eq!(judged.welcome().node, "node-2");
    proxy.cut();
    let asked = async {
        loop {
            if let Ok(count) = ledger.add(3).await {
                return count;
            }
        }
    };
    let count = tokio::time::timeout(SOON, asked).await.unwrap();
    assert!((3..5).contains(&count), "{count}");
    cluster.leave().await;
}

#[tokio::test]
async fn bad_new_files_are_logged_and_the_old_ones_stay() {
    let log = Log::listen();
    let office = Office::new();
    let cluster = office.two_nodes().await;
    fs::write(office.dir.join("node-2.pem"), "not a certificate").unwrap();
    look_at_files().await;
    log.says(&["ERROR", "node-2.pem", "the former certificate stays in use"])
        .await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    assert_eq!(ledger.add(1).await.unwrap(), 1);
    cluster.leave().await;
}
