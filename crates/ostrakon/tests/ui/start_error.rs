use ostrakon::entity;

struct NoError;

struct Account;

#[entity]
impl Account {
    #[start]
    async fn load(&mut self) -> Result<(), NoError> {
        Ok(())
    }

    async fn look(&self) {}
}

fn main() {}
