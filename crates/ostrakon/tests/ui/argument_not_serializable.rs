#![allow(unused_variables)]

use ostrakon::entity;

struct Money(i64);

struct Account;

#[entity]
impl Account {
    async fn deposit(&mut self, amount: Money) {}
}

fn main() {}
