//! Nodes and managers in one process, talking over real connections.

mod basics;
mod cluster;

#[allow(dead_code)]
fn log() {
    let _ = tracing_subscriber::fmt().with_test_writer().try_init();
}
