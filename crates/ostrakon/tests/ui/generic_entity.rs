use ostrakon::entity;

struct List<T>(Vec<T>);

#[entity]
impl<T: Clone> List<T> {
    async fn len(&self) -> usize {
        self.0.len()
    }
}

struct Stack<T>(Vec<T>);

#[entity]
impl Stack<u8> {
    async fn len(&self) -> usize {
        self.0.len()
    }
}

fn main() {}
