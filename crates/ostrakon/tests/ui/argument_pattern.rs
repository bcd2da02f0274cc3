#![allow(unused_variables)]

use ostrakon::entity;

struct Map;

#[entity]
impl Map {
    async fn mark(&mut self, (x, y): (u32, u32)) -> u32 {
        x + y
    }

    async fn forget(&mut self, _: u32) {}
}

fn main() {}
