use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async fn withdraw(&mut self, amount: i64) -> Result<i64, String> {
        Err(format!("{amount} is too much"))
    }
}

fn main() {}
