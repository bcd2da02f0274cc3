use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async fn close(self) {}

    async fn close_boxed(self: Box<Self>) {}
}

fn main() {}
