use futures_core::Stream;
use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    #[idempotent]
    fn watch(&mut self) -> impl Stream<Item = i64> {
        futures_util::stream::empty()
    }

    #[idempotent]
    #[start]
    async fn load(&mut self) {}

    #[helper]
    #[idempotent]
    async fn reload(&mut self) {}

    #[idempotent]
    fn rate(&self) -> f64 {
        0.5
    }

    async fn look(&self) {}
}

fn main() {}
