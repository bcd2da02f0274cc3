//! The example runs to its end and prints what the text about it says.

use std::process::Command;

#[test]
fn alice_has_what_was_deposited_on_both_nodes() {
    let run = Command::new(env!("CARGO_BIN_EXE_bank"))
        .output()
        .expect("the example was built for this test");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{run:?}");
    assert!(said.contains("Alice's balance: 150"), "{said}");
}
