use ostrakon::entity;

#[entity]
struct Account {
    balance: i64,
}

fn main() {}
