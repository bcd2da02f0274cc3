use std::rc::Rc;

use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async fn deposit(&mut self, amount: i64) -> i64 {
        let shared = Rc::new(amount);
        std::future::ready(()).await;
        *shared
    }

    async fn look(&self) {}
}

fn main() {}
