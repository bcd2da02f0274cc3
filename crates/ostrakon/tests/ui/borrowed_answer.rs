use ostrakon::entity;

struct Notes(Vec<String>);

#[entity]
impl Notes {
    async fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    async fn all(&self) -> impl Iterator<Item = String> {
        self.0.clone().into_iter()
    }
}

fn main() {}
