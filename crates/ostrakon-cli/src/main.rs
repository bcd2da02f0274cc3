//! The `ostrakon` command.
fn main() {}
