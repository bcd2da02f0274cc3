use ostrakon::entity;

struct Money(i64);

struct Account;

#[entity]
impl Account {
    async fn balance(&self) -> Money {
        Money(0)
    }
}

fn main() {}
