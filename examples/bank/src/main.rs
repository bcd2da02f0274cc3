//! The smallest bank: accounts that need no declaration, no table and no lock.
//!
//! Run it with `cargo run -p bank`.

use anyhow::ensure;
use ostrakon::{Node, entity};

/// An entity is a plain struct. Each account is one value of it, found by its id.
#[derive(Default)]
struct Account {
    balance: i64,
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
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // A node that knows no other runs alone: all shards are its own.
    let node = Node::builder("node-1").host::<Account>().start().await?;

    // A ref costs nothing and starts nothing. The first message brings the account to life.
    let alice = node.entity::<Account>("alice");
    let bob = node.entity::<Account>("bob");

    // To tell is to send and go on …
    alice.tell().deposit(100).await?;
    bob.tell().deposit(200).await?;

    // … to ask is to wait until the message has been handled, and for the answer if there is one.
    alice.deposit(50).await?;

    // Messages from here to Alice are handled in the order they were sent, so all deposits are in.
    let balance = alice.balance().await?;
    println!("Alice's balance: {balance}");

    // Stops every account in good order. One that keeps its balance for good would save it in a `#[stop]` method.
    node.leave().await?;
    ensure!(balance == 150, "Alice must have 150");
    Ok(())
}
