//! Everything a contributor runs.
fn main() {}
