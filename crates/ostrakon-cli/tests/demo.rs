//! `ostrakon demo` as a user runs it: the built binary, its output and its exit code.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

fn ostrakon(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ostrakon"))
        .args(arguments.split(' '))
        .output()
        .expect("the binary was built for this test")
}

#[test]
fn a_run_reports_in_one_line_of_json_and_loses_nothing() {
    let output = ostrakon("demo --plane solo --for 1s --json --accounts 200 --tellers 8");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    let report: Value = serde_json::from_str(&stdout).unwrap();

    for zero in [
        "lost",
        "duplicated",
        "overlaps",
        "moves",
        "unknown",
        "money_missing",
    ] {
        assert_eq!(report[zero].as_u64(), Some(0), "{zero}: {stdout}");
    }
    for outcome in [
        "not_executed",
        "failed_in_handler",
        "executed_without_answer",
    ] {
        assert_eq!(
            report["failed"][outcome].as_u64(),
            Some(0),
            "{outcome}: {stdout}"
        );
    }
    for more in [
        "acknowledged",
        "tells",
        "entities_started",
        "entities_stopped",
        "restarts",
        "dead_letters",
    ] {
        assert!(report[more].as_u64().unwrap() > 0, "{more}: {stdout}");
    }
    for positive in [
        "p50_us",
        "p99_us",
        "longest_gap_ms",
        "messages_per_second",
        "seconds",
    ] {
        assert!(
            report[positive].as_f64().unwrap() > 0.0,
            "{positive}: {stdout}"
        );
    }
    assert_eq!(report["plane"], "solo");
}

#[test]
fn accounts_are_stopped_and_started_again_while_it_runs() {
    let output = ostrakon("demo --plane solo --for 1s --json --accounts 200 --tellers 8");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // 200 accounts, and a few entities that fall: without passivation there would be no more lives than that.
    let without_passivation = 200 + 8 + report["restarts"].as_u64().unwrap();
    let started = report["entities_started"].as_u64().unwrap();
    assert!(started > without_passivation, "{report}");
    assert_eq!(
        report["entities_stopped"].as_u64(),
        Some(started),
        "all stop in the end: {report}"
    );
}

#[test]
fn deliberate_panics_do_not_litter_the_terminal() {
    let output = ostrakon("demo --plane solo --for 300ms --accounts 50 --tellers 2");
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("Every check held."), "{stdout}");
    assert!(!stdout.contains(" 0 panics on purpose"), "{stdout}");
    assert_eq!(stderr, "");
}

#[test]
fn no_reading_of_a_sensor_is_lost_when_a_node_is_killed_and_another_one_joins() {
    let output = ostrakon("demo --plane peer --nodes 3 --sensors 2000 --for 10s --json");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for zero in ["lost", "duplicated", "overlaps", "unchecked"] {
        assert_eq!(report[zero].as_u64(), Some(0), "{zero}: {report}");
    }
    let number = |of: &Value| of.as_u64().unwrap();
    assert_eq!(number(&report["readings"]), 20_000, "{report}");
    assert_eq!(
        number(&report["before"]["acknowledged"]),
        10_000,
        "{report}"
    );
    assert_eq!(number(&report["shards_per_node_min"]), 85, "{report}");
    assert_eq!(number(&report["shards_per_node_max"]), 86, "{report}");
    assert!(number(&report["moves"]) >= 85, "{report}");
    for phase in ["before", "during", "after"] {
        assert!(
            number(&report[phase]["acknowledged"]) > 0,
            "{phase}: {report}"
        );
    }
    let names = report["after"]["shards_per_node"].as_object().unwrap();
    let names: Vec<_> = names.keys().collect();
    assert_eq!(names, ["node-2", "node-3", "node-4"], "{report}");
}

/// Waits until a text has been printed; returns all that was until then.
fn read_until(output: &mut impl Read, wanted: &str) -> String {
    let (mut text, mut byte) = (Vec::new(), [0; 1]);
    loop {
        let read = output.read(&mut byte).expect("a terminal can be read");
        text.extend_from_slice(&byte[..read]);
        let so_far = String::from_utf8_lossy(&text);
        if so_far.contains(wanted) {
            return so_far.into_owned();
        }
        assert!(read > 0, "{wanted:?} never came: {so_far}");
    }
}

#[test]
fn keys_of_a_terminal_do_things_to_the_nodes() {
    let demo = env!("CARGO_BIN_EXE_ostrakon").to_owned();
    let demo = demo + " demo --plane peer --accounts 50 --tellers 2";
    // It gives the demo a terminal and types what it reads.
    let mut terminal = Command::new("script")
        .args(["-qec", &demo, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` is part of every Debian");
    let mut keyboard = terminal.stdin.take().unwrap();
    let mut screen = terminal.stdout.take().unwrap();
    let began = read_until(&mut screen, "q quit");
    assert!(began.contains("dashboard http://127.0.0.1:"), "{began}");
    for (key, happens) in [
        (b"a", "node-4 has joined"),
        (b"k", "node-1 was killed"),
        (b"p", "node-2 stands still"),
        (b"p", "node-2 goes on"),
        (b"d", "node-2 hands its shards over"),
        (b"q", "Every check held."),
    ] {
        keyboard.write_all(key).unwrap();
        read_until(&mut screen, happens);
    }
    assert!(terminal.wait().unwrap().success());
}

#[test]
fn a_demo_that_is_killed_leaves_no_process_behind() {
    let dir = format!("killed-{}", std::process::id());
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(dir);
    fs::create_dir_all(&dir).unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_ostrakon"))
        .args("demo --plane managed --nodes 2 --accounts 10 --tellers 1 --for 1m --json".split(' '))
        .env("TMPDIR", &dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(demo.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("msg/s"), "{line}");
    demo.kill().unwrap();
    demo.wait().unwrap();
    // All of its processes would complain there: it is closed when the last of them is gone.
    let (closed, is_closed) = mpsc::channel();
    thread::spawn(move || closed.send(stderr.read_to_string(&mut String::new()).is_ok()));
    assert_eq!(is_closed.recv_timeout(Duration::from_secs(30)), Ok(true));
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn arguments_without_meaning_are_refused_with_help() {
    for (arguments, help) in [
        ("demo --for soon", "500ms, 20s or 2m"),
        ("demo --for 0s", "no time"),
        ("demo --accounts 1", "2..=50000000"),
        ("demo --tellers 0", "1..=100000"),
        ("demo --teller 3", "--tellers"),
        ("dmeo", "demo"),
        ("demo --plane solo --sensors 10", "--plane peer"),
        ("demo --plane peer --sensors 10 --for 3s", "4s at least"),
        ("demo --plane peer --sensors 10 --tellers 3", "--tellers"),
    ] {
        let output = ostrakon(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains(help), "{arguments}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

#[test]
fn help_teaches_by_example() {
    let output = ostrakon("demo --help");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for taught in ["--accounts", "--tellers", "--for", "--json", "Examples:"] {
        assert!(stdout.contains(taught), "{stdout}");
    }
}
