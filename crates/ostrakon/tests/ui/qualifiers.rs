use ostrakon::entity;

struct Account;

#[entity]
impl Account {
    async unsafe fn poke(&mut self) {}

    async extern "C" fn call(&mut self) {}
}

fn main() {}
