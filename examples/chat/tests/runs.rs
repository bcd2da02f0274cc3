//! The example runs to its end: what was said in the room and on the topic arrives, in order, on both nodes.

use std::process::Command;

const SAID: &str = "\
Alice reads:
  Bob comes in
  Bob: hello
  Carol comes in
  Alice: where did she go?
Bob reads:
  Bob: hello
  Carol comes in
  Alice: where did she go?
node-1: Alice hear: we close at ten
node-2: Bob and Carol hear: we close at ten
";

#[test]
fn everybody_reads_what_was_said_on_either_node() {
    let run = Command::new(env!("CARGO_BIN_EXE_chat"))
        .output()
        .expect("the example was built for this test");
    assert!(run.status.success(), "{run:?}");
    assert_eq!(String::from_utf8_lossy(&run.stdout), SAID);
}
