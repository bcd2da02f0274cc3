//! Real processes, disturbed in real ways while they work: what was acknowledged is there, and nobody ever lived twice.
//!
//! Each test runs `ostrakon demo` as a user would and reads the summary. What it counts as lost, duplicated or overlapping is found by
//! an oracle that knows what was acknowledged, and by an audit of the journals with the kernel's clock.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc,
    thread,
};

use serde_json::Value;

/// Runs the demo to its end. Nothing may be lost or there twice, whatever was done to it.
fn demo(arguments: &str) -> Value {
    run(&format!("--plane managed {arguments}"))
}

/// The same where the nodes look after themselves.
fn demo_of_peers(arguments: &str) -> Value {
    run(&format!("--plane peer {arguments}"))
}

fn run(arguments: &str) -> Value {
    Demo::start(arguments)
        .ends()
        .unwrap_or_else(|complaint| panic!("{arguments}: {complaint}"))
}

/// The same with every process a host of its own, so that a cut is one of the network.
fn demo_of_hosts(arguments: &str) -> Value {
    match Demo::start(&format!("--plane managed {arguments} --namespaces")).ends() {
        Ok(summary) => summary,
        Err(complaint) if complaint.contains("network namespaces cannot be made here") => {
            let mut loudly = io::stderr();
            let _ = writeln!(
                loudly,
                "WARNING: NO NETWORK NAMESPACES HERE: the cut is made by a forwarder instead. {complaint}"
            );
            demo(arguments)
        }
        Err(complaint) => panic!("{arguments}: {complaint}"),
    }
}

/// A demo that runs.
struct Demo {
    process: Child,
    /// What it says while it works; ends when all has been said.
    says: mpsc::Receiver<String>,
}

impl Demo {
    fn start(arguments: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ostrakon"))
            .args("demo --accounts 400 --tellers 4 --json".split(' '))
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        println!("{arguments}");
        let stderr = process.stderr.take().expect("it is piped");
        Self {
            process,
            says: lines_of(stderr),
        }
    }

    /// Waits until the cluster is at work. Everything that was said until then is gone.
    #[cfg(feature = "postgres")]
    fn is_at_work(&self) {
        let shows_speed = |line: &String| line.contains("msg/s");
        self.says.iter().find(shows_speed).expect("it works");
    }

    /// Waits for the end; returns the summary, or the complaint of a demo that could not do what it was asked for.
    fn ends(mut self) -> Result<Value, String> {
        let mut stdout = String::new();
        let output = self.process.stdout.take().expect("it is piped");
        let read = BufReader::new(output).read_to_string(&mut stdout);
        read.expect("its output can be read");
        let stderr = self.says.iter().collect::<Vec<_>>().join("\n");
        let status = self.process.wait().expect("it ends");
        println!("{stdout}");
        let Ok(summary) = serde_json::from_str::<Value>(stdout.trim()) else {
            return Err(format!("{stdout}\n{stderr}"));
        };
        for nothing in ["lost", "duplicated", "overlaps", "unchecked"] {
            assert_eq!(summary[nothing], 0, "{nothing}: {stdout}");
        }
        assert_eq!(status.code(), Some(0), "{stdout}\n{stderr}");
        assert!(number(&summary, "acknowledged") > 1000.0, "{stdout}");
        Ok(summary)
    }
}

/// Reads on while nobody looks, so that whoever speaks never has to wait.
fn lines_of(stderr: ChildStderr) -> mpsc::Receiver<String> {
    let (says, hears) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let _ = says.send(line);
        }
    });
    hears
}

fn number(summary: &Value, key: &str) -> f64 {
    summary[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {summary}"))
}

/// Whoever could not be reached was replaced when its lease was over, which nobody waited for longer than that; and came back when it
/// could. On a quiet machine the first takes at most six seconds.
fn soon_over(summary: &Value) {
    assert!(number(summary, "longest_gap_ms") < 9000.0, "{summary}");
    assert!(number(summary, "heal_max_ms") < 10_000.0, "{summary}");
}

/// Every ask was answered.
fn nothing_failed(summary: &Value) {
    for failed in [
        "not_executed",
        "failed_in_handler",
        "executed_without_answer",
    ] {
        assert_eq!(summary["failed"][failed], 0, "{summary}");
    }
    assert_eq!(summary["unknown"], 0, "{summary}");
}

#[test]
fn killed_nodes_are_replaced_long_before_a_lease_would_run_out() {
    let summary = demo("--nodes 3 --for 25s --fault replace-node --rounds 4");
    assert!(number(&summary, "moves") > 0.0, "{summary}");
    assert_eq!(summary["failovers"], 4, "{summary}");
    // No teller waited longer than this for an answer, whatever was killed. On a quiet machine it is a third of a second; this one runs
    // many other clusters at the same time.
    assert!(number(&summary, "failover_max_ms") < 3000.0, "{summary}");
}

#[test]
fn a_node_that_is_stopped_for_long_and_goes_on_finds_its_shards_gone_and_does_no_harm() {
    let summary = demo("--nodes 3 --for 36s --failover lease --fault pause-node");
    assert!(number(&summary, "moves") > 0.0, "{summary}");
}

#[test]
fn a_stopped_node_keeps_its_shards_while_nobody_can_prove_it_dead() {
    let summary = demo("--nodes 3 --for 36s --failover proof --fault pause-node");
    assert_eq!(summary["moves"], 0, "{summary}");
}

#[test]
fn a_node_that_is_cut_off_from_the_manager_alone_rests_and_its_shards_go_to_others() {
    let summary = demo_of_hosts("--nodes 3 --for 36s --failover lease --fault cut-node");
    assert!(number(&summary, "moves") > 0.0, "{summary}");
    soon_over(&summary);
}

#[test]
fn a_node_that_is_cut_off_from_the_manager_alone_goes_on_serving_while_its_death_is_not_proven() {
    let summary = demo_of_hosts("--nodes 3 --for 36s --failover proof --fault cut-node");
    assert_eq!(summary["moves"], 0, "{summary}");
    nothing_failed(&summary);
    // Whoever wanted something of it in those twenty seconds got it.
    assert!(number(&summary, "longest_gap_ms") < 3000.0, "{summary}");
}

#[test]
fn nobody_notices_that_the_manager_was_killed() {
    let summary = demo("--nodes 3 --for 12s --fault kill-manager");
    nothing_failed(&summary);
    assert_eq!(summary["moves"], 0, "{summary}");
}

#[test]
fn five_nodes_are_restarted_one_after_the_other_and_no_ask_fails() {
    let summary = demo("--nodes 5 --for 30s --fault roll-nodes");
    nothing_failed(&summary);
    // Each of the 300 shards has to move once; some move twice, because they go to a node that is not restarted yet. Those in which
    // no account lives are not seen.
    assert!(number(&summary, "moves") <= 600.0, "{summary}");
    assert!(number(&summary, "moves") > 150.0, "{summary}");
}

#[test]
fn an_update_that_is_taken_back_fails_no_ask_either() {
    let summary = demo("--nodes 3 --for 25s --fault roll-nodes --fault roll-back");
    nothing_failed(&summary);
}

#[test]
fn nodes_come_and_go_in_good_order_and_no_ask_fails() {
    let summary = demo("--nodes 3 --for 15s --fault add-node --fault drain-node");
    nothing_failed(&summary);
}

/// Nodes that look after their cluster themselves.
mod peers {
    use super::*;

    /// Where every process is a host of its own. Without namespaces there is nothing to cut.
    fn demo_of_hosts(arguments: &str) -> Option<Value> {
        match Demo::start(&format!("--plane peer {arguments} --namespaces")).ends() {
            Ok(summary) => Some(summary),
            Err(complaint) if complaint.contains("network namespaces cannot be made here") => {
                let mut loudly = io::stderr();
                let _ = writeln!(
                    loudly,
                    "WARNING: NO NETWORK NAMESPACES HERE: not tried: {arguments}. {complaint}"
                );
                None
            }
            Err(complaint) => panic!("{arguments}: {complaint}"),
        }
    }

    #[test]
    fn killed_nodes_are_replaced_whether_they_led_or_not() {
        let summary = demo_of_peers(
            "--nodes 3 --for 30s --fault replace-node --fault kill-manager --rounds 2",
        );
        assert!(number(&summary, "moves") > 0.0, "{summary}");
        assert_eq!(summary["failovers"], 4, "{summary}");
        // On a quiet machine a third of a second. Without proof it would be the end of a lease, and a new one.
        assert!(number(&summary, "failover_max_ms") < 4000.0, "{summary}");
    }

    #[test]
    fn a_leader_that_is_stopped_for_long_and_goes_on_leads_no_more_and_does_no_harm() {
        let summary = demo_of_peers("--nodes 3 --for 36s --fault pause-manager");
        assert!(number(&summary, "moves") > 0.0, "{summary}");
        soon_over(&summary);
    }

    #[test]
    fn a_node_that_is_cut_off_from_its_peers_rests_though_its_clients_still_reach_it() {
        let Some(summary) = demo_of_hosts("--nodes 3 --for 36s --fault cut-node") else {
            return;
        };
        assert!(number(&summary, "moves") > 0.0, "{summary}");
        soon_over(&summary);
    }

    #[test]
    fn a_node_that_hears_nothing_but_is_heard_rests_as_well() {
        let Some(summary) = demo_of_hosts("--nodes 3 --for 36s --fault deafen-node") else {
            return;
        };
        soon_over(&summary);
    }

    #[test]
    fn nodes_come_and_go_in_good_order_and_no_ask_fails() {
        let summary = demo_of_peers("--nodes 3 --for 24s --fault add-node --fault drain-node");
        nothing_failed(&summary);
    }

    #[test]
    fn five_nodes_are_restarted_one_after_the_other_and_no_ask_fails() {
        let summary = demo_of_peers("--nodes 5 --for 45s --fault roll-nodes");
        nothing_failed(&summary);
    }
}

/// Managers that share a real server; see `cargo test --features postgres`.
#[cfg(feature = "postgres")]
mod over_postgres {
    use std::time::Duration;

    use ostrakon_servers::Postgres;

    use super::*;

    #[test]
    fn when_the_leader_is_killed_another_manager_takes_over_and_nobody_notices() {
        let server = Postgres::start().expect("PostgreSQL");
        let storage = server.url();
        let summary = demo(&format!(
            "--nodes 3 --for 20s --managers 2 --storage {storage} --fault kill-manager"
        ));
        nothing_failed(&summary);
        assert_eq!(summary["moves"], 0, "{summary}");
    }

    #[test]
    fn two_managers_that_both_believe_to_lead_do_no_harm() {
        let server = Postgres::start().expect("PostgreSQL");
        let storage = server.url();
        let summary = demo(&format!(
            "--nodes 3 --for 40s --managers 2 --storage {storage} --fault pause-manager --fault replace-node"
        ));
        assert!(number(&summary, "moves") > 0.0, "{summary}");
    }

    #[test]
    fn a_storage_that_is_away_for_a_minute_stops_nothing() {
        let mut server = Postgres::start().expect("PostgreSQL");
        let storage = server.url();
        let working = Demo::start(&format!(
            "--plane managed --nodes 3 --for 75s --storage {storage}"
        ));
        working.is_at_work();
        server.stop();
        // As long as it is away.
        thread::sleep(Duration::from_secs(60));
        server.restart().expect("it starts again");
        let summary = working.ends().expect("the summary");
        nothing_failed(&summary);
        assert_eq!(summary["moves"], 0, "{summary}");
    }
}
