//! The smallest bank on two nodes: accounts that need no declaration, no table, no lock and no server.
//!
//! Both nodes in one process: `cargo run -p bank`. Each in its own, in two terminals: `cargo run -p bank -- node-1` and
//! `cargo run -p bank -- node-2`.

use anyhow::{bail, ensure};
use ostrakon::{Node, Reply, ShardCount, ShardGroup, entity};

/// Every node runs the same code: only its name and its address differ.
const NODES: [(&str, &str); 2] = [("node-1", "127.0.0.1:25520"), ("node-2", "127.0.0.1:25521")];

/// An entity is a plain struct. Each account is one value of it, found by its id.
#[derive(Default)]
struct Account {
    balance: i64,
    /// Who waits until there is as much as this.
    waiting: Vec<(i64, Reply<i64>)>,
}

/// Each async method becomes a message, and `AccountRef` gets a method of the same name that sends it.
#[entity(kind = "account")]
impl Account {
    /// One message at a time: `&mut self` is ours until the method ends, so nothing needs a lock.
    async fn deposit(&mut self, amount: i64) {
        self.balance += amount;
    }

    async fn balance(&self) -> i64 {
        self.balance
    }

    /// Deposits, and answers when the balance has reached the goal. A `Reply` can be kept until there is something to say.
    async fn deposit_toward(&mut self, goal: i64, amount: i64, answer: Reply<i64>) {
        self.balance += amount;
        self.waiting.push((goal, answer));
        for (goal, answer) in std::mem::take(&mut self.waiting) {
            if self.balance < goal {
                self.waiting.push((goal, answer));
            } else {
                answer.send(self.balance);
            }
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let balance = match std::env::args().nth(1).as_deref() {
        None => in_one_process().await?,
        Some("node-1") => in_its_own_process(0, 100).await?,
        Some("node-2") => in_its_own_process(1, 50).await?,
        Some(other) => bail!("there is no {other:?}: say node-1, node-2 or nothing"),
    };
    println!("Alice's balance: {balance}");
    ensure!(balance == 150, "Alice must have 150");
    Ok(())
}

async fn in_one_process() -> anyhow::Result<i64> {
    let node1 = start(0).await?;
    let node2 = start(1).await?;

    // A ref costs nothing and starts nothing. The first message brings the account to life, on one of the nodes.
    let alice = node1.entity::<Account>("alice");
    alice.deposit(100).await?;
    // To ask is to wait until the message has been handled. To tell is to send and go on.
    node1.entity::<Account>("bob").tell().deposit(200).await?;
    // From the other node it is the same account.
    node2.entity::<Account>("alice").deposit(50).await?;
    let balance = alice.balance().await?;

    // Who leaves gives its accounts to others. One that keeps its balance for good would save it in a `#[stop]` method.
    node1.leave().await?;
    node2.leave().await?;
    Ok(balance)
}

/// Whichever process comes first: Alice answers both when both have deposited.
async fn in_its_own_process(number: usize, amount: i64) -> anyhow::Result<i64> {
    let node = start(number).await?;
    // An account that lives in memory only loses its balance when it moves, and it may move to a node that comes later.
    node.until_members(NODES.len()).await;
    let alice = node.entity::<Account>("alice");
    let deposit = |answer| AccountMessage::DepositToward {
        goal: 150,
        amount,
        answer,
        // What the method returns, which is nothing.
        reply: Reply::ignored(),
    };
    let balance = alice.as_ref().ask(deposit).await?;
    node.leave().await?;
    Ok(balance)
}

async fn start(number: usize) -> anyhow::Result<Node> {
    let (name, address) = NODES[number];
    let (_, seed) = NODES[1 - number];
    let group = ShardGroup {
        count: ShardCount::new(100)?,
        ..ShardGroup::default()
    };
    let node = Node::builder(name).peers(address, [seed]).group(group);
    Ok(node.host::<Account>().start().await?)
}
