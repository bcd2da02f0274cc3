use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    fn rate(&self) -> f64 {
        0.5
    }

    #[helper]
    async fn reload(&mut self) {}
}

fn main() {}
