use futures_core::Stream;
use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async fn watch(&mut self) -> impl Stream<Item = i64> {
        futures_util::stream::empty()
    }

    fn itemless(&mut self) -> impl Stream {
        futures_util::stream::empty::<i64>()
    }
}

fn main() {}
