use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async fn tell(&mut self) {}
    async fn within(&mut self) {}
    async fn id(&self) {}
    async fn as_ref(&self) {}
    async fn clone(&self) {}
    async fn from(&self) {}
}

fn main() {}
