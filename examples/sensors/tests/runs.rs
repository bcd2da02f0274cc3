//! The example runs to its end: it checks itself that no reading was lost.

use std::process::Command;

#[test]
fn it_runs_to_its_end() {
    let run = Command::new(env!("CARGO_BIN_EXE_sensors"))
        .output()
        .expect("the example was built for this test");
    assert!(run.status.success(), "{run:?}");
    assert!(!run.stdout.is_empty(), "it shows something");
}
