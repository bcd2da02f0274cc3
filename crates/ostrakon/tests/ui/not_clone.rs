#![allow(unused_variables)]

use ostrakon::entity;

#[derive(serde::Serialize, serde::Deserialize)]
struct Money(i64);

struct Account;

#[entity]
impl Account {
    #[idempotent]
    async fn set(&mut self, balance: Money) {}
}

fn main() {}
