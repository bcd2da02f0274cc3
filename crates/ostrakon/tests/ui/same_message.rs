use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async fn add_1(&mut self) {}
    async fn add1(&mut self) {}
}

fn main() {}
