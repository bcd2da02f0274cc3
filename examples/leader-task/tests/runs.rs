//! The example runs to its end: ticks only go forward, and three nodes do them, one after the other.

use std::process::Command;

#[test]
fn the_work_goes_on_elsewhere_and_no_tick_is_done_twice() {
    let run = Command::new(env!("CARGO_BIN_EXE_leader-task"))
        .output()
        .expect("the example was built for this test");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{run:?}");
    let ticks = said.lines().filter_map(|line| line.strip_prefix("tick "));
    let ticks: Vec<(u64, &str)> = ticks
        .map(|tick| tick.split_once(": ").expect("a tick and a node"))
        .map(|(tick, node)| (tick.parse().expect("a number"), node))
        .collect();
    let forward = |pair: &[(u64, &str)]| pair[0].0 < pair[1].0;
    assert!(ticks.windows(2).all(forward), "{said}");
    let mut on_duty: Vec<_> = ticks.iter().map(|(_, node)| node).collect();
    on_duty.dedup();
    assert_eq!(on_duty.len(), 3, "each has one turn, and only one: {said}");
}
