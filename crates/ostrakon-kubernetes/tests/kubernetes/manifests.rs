//! The manifests in `deploy/kubernetes`, and the Dockerfile, as far as that can be known without a cluster: each document is what its
//! schema says, and what one names is in another, in the program it runs or in the documentation.

mod image;
mod manifest;
mod network;
mod relations;
mod rights;
mod schema;
mod workload;

use std::{fs, path::PathBuf};

/// A file of the repository.
fn text_of(path: &str) -> String {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let file = root.join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
