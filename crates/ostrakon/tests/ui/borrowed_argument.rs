#![allow(unused_variables)]

use std::borrow::Cow;

use ostrakon::{Context, entity};

struct Notes;

#[entity]
impl Notes {
    async fn write(&mut self, text: &str) {}

    async fn write_all(&mut self, texts: Vec<&'static str>, raw: &[u8]) {}

    async fn write_either(&mut self, text: Cow<'_, str>) {}

    async fn of_another(&mut self, ctx: &mut Context<Other>) {}
}

struct Other;

#[entity]
impl Other {
    async fn look(&self) {}
}

fn main() {}
