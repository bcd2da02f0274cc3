use ostrakon::entity;

struct Account;

#[entity(kind = "Account")]
impl Account {
    async fn look(&self) {}
}

struct Empty;

#[entity(kind = "")]
impl Empty {
    async fn look(&self) {}
}

struct Übung;

#[entity]
impl Übung {
    async fn look(&self) {}
}

fn main() {}
