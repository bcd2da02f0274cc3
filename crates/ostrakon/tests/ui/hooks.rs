#![allow(unused_variables)]

use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    #[start]
    async fn load(&mut self, path: String) {}

    #[stop]
    fn save(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }

    async fn look(&self) {}
}

struct Other;

#[entity]
impl Other {
    #[start]
    async fn load() {}

    #[stop(now)]
    async fn save(&mut self) {}

    async fn look(&self) {}
}

fn main() {}
