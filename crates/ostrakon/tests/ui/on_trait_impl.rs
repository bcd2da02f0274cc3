use ostrakon::entity;

struct Account;

#[entity]
impl Iterator for Account {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        None
    }
}

fn main() {}
