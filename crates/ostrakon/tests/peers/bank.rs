//! The bank of the cluster-sharding page, without its waits.

use ostrakon::{Node, ShardCount, ShardGroup, entity};

#[derive(Default)]
struct Account {
    balance: i64,
}

#[entity(kind = "account")]
impl Account {
    async fn deposit(&mut self, amount: i64) {
        self.balance += amount;
    }

    async fn balance(&self) -> i64 {
        self.balance
    }
}

async fn node(name: &str, at: &str, seed: &str) -> Node {
    let group = ShardGroup {
        count: ShardCount::new(100).unwrap(),
        ..ShardGroup::default()
    };
    Node::builder(name)
        .peers(at, [seed])
        .group(group)
        .host::<Account>()
        .start()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_are_one_bank() {
    let began = std::time::Instant::now();
    let (one, two) = ("127.0.0.1:25520", "127.0.0.1:25521");
    let node1 = node("node-1", one, two).await;
    println!("first after {:?}", began.elapsed());
    let node2 = node("node-2", two, one).await;
    println!("second after {:?}", began.elapsed());
    node1.entity::<Account>("alice").deposit(100).await.unwrap();
    node1.entity::<Account>("bob").deposit(200).await.unwrap();
    node2.entity::<Account>("alice").deposit(50).await.unwrap();
    assert_eq!(
        node1.entity::<Account>("alice").balance().await.unwrap(),
        150
    );
    println!("done after {:?}", began.elapsed());
}
