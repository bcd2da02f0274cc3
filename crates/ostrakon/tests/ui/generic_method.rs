#![allow(unused_variables)]

use ostrakon::entity;

struct Notes;

#[entity]
impl Notes {
    async fn write<T: Into<String>>(&mut self, text: T) {}
}

fn main() {}
