use futures_core::Stream;
use ostrakon::entity;

struct Account(Vec<i64>);

#[entity]
impl Account {
    fn watch(&mut self) -> impl Stream<Item = i64> {
        futures_util::stream::iter(self.0.iter().copied())
    }
}

fn main() {}
