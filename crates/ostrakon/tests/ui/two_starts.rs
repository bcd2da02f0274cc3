use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    #[start]
    async fn load(&mut self) {}

    #[start]
    async fn warm_up(&mut self) {}

    async fn look(&self) {}
}

fn main() {}
