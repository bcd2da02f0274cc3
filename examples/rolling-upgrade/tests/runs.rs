//! The example runs to its end: all nodes are replaced under load, and no ask fails or counts twice.

use std::process::Command;

#[test]
fn no_ask_fails_while_all_nodes_are_replaced() {
    let run = Command::new(env!("CARGO_BIN_EXE_rolling-upgrade"))
        .output()
        .expect("the example was built for this test");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{run:?}");
    assert!(said.contains("\n0 asks failed\n"), "{said}");
    assert!(said.contains("nothing was lost or counted twice"), "{said}");
}
