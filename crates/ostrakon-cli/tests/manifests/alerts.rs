//! The alerts in `deploy/prometheus`, with Prometheus's own tool: what makes each of them fire is in `alerts-test.yaml` beside them.

use std::{fs, path::PathBuf, process::Command};

use crate::catalogue::{Catalogue, root};

#[test]
fn every_alert_fires_when_it_should_and_only_then() {
    for arguments in [
        ["check", "rules", "alerts.yaml"],
        ["test", "rules", "alerts-test.yaml"],
    ] {
        let ran = Command::new("promtool")
            .args(arguments)
            .current_dir(folder())
            .output()
            .expect("the Debian package prometheus is installed");
        assert!(ran.status.success(), "{ran:?}");
    }
}

#[test]
fn every_alert_is_about_metrics_that_exist_and_is_seen_to_fire() {
    let (rules, trials) = (read("alerts.yaml"), read("alerts-test.yaml"));
    let named = Catalogue::read().named_in(&rules).len();
    let names = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let names: Vec<_> = names.collect();
    assert!(named >= 6 && names.len() >= 6, "{names:?}");
    for name in names {
        let fires = format!("alertname=\"{name}\"");
        assert!(trials.contains(&fires), "{name} never fires in a test");
    }
}

pub(crate) fn folder() -> PathBuf {
    root().join("deploy/prometheus")
}

fn read(file: &str) -> String {
    fs::read_to_string(folder().join(file)).expect(file)
}
