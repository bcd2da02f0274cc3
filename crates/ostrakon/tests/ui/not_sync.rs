use std::cell::Cell;

use ostrakon::entity;

struct Account {
    balance: Cell<i64>,
}

#[entity]
impl Account {
    async fn balance(&self) -> i64 {
        self.balance.get()
    }
}

fn main() {}
