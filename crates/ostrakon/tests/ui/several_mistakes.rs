#![allow(unused_variables)]

use ostrakon::entity;

struct Account;

#[entity(kid = "account")]
impl Account {
    async fn note(&mut self, text: &str) {}

    async fn close(self) {}

    #[start]
    fn load(&mut self) {}
}

fn main() {}
