#![allow(unused_variables)]

use ostrakon::entity;

struct Notes;

#[entity]
impl Notes {
    async fn write(&mut self, text: impl Into<String>) {}
}

fn main() {}
