//! What an operator sees: a real Prometheus reads a manager with the certificate that docs/kubernetes.md has it use, and two nodes,
//! and is asked what the board and the alerts ask it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    Folder, Manager, NAME, board::Board, catalogue::Catalogue, members::Members, ostrakon,
    prometheus::Prometheus,
};

/// What begins when it first happens, which it does not here.
const RARE: [&str; 10] = [
    "ostrakon_connections_ended_total",
    "ostrakon_connections_refused_total",
    "ostrakon_lease_overruns_total",
    "ostrakon_manager_callers_hung_up_total",
    "ostrakon_manager_callers_refused_total",
    "ostrakon_manager_nodes_ahead",
    "ostrakon_manager_silent_nodes",
    "ostrakon_slow_polls_total",
    "ostrakon_undelivered_total",
    "ostrakon_unknown_frames_total",
];
/// What Prometheus and the exporter put beside our labels.
const NOT_OURS: [&str; 4] = ["__name__", "instance", "job", "quantile"];

#[test]
fn prometheus_has_an_answer_to_all_that_the_board_and_the_alerts_ask() {
    let folder = Folder::new("watching");
    make_certificates(&folder);
    let manager = Manager::start(&folder, &folder.settings());
    let members = Members::start();
    let jobs = jobs(&folder, &manager, &members);
    let prometheus = Prometheus::start(&folder, &jobs);
    prometheus.until_there_is("count(up == 1) == 2");
    for late in [
        "handle_seconds_count",
        "heartbeat_seconds_count",
        "dead_letters_total",
    ] {
        prometheus.until_there_is(&format!("ostrakon_{late} > 0"));
    }

    let catalogue = Catalogue::read();
    let seen = labels_by_metric(&prometheus, &catalogue);
    for (name, metric) in &catalogue.0 {
        match seen.get(name) {
            Some(labels) => assert_eq!(labels, &metric.labels, "the labels of {name}"),
            None => assert!(RARE.contains(&name.as_str()), "{name} is not there"),
        }
    }
    check_board(&prometheus, &catalogue, &seen);
    check_rules(&prometheus);
    prometheus.until_there_is("ALERTS{alertname=\"OstrakonDeadLetters\", alertstate=\"firing\"}");
}

fn make_certificates(folder: &Folder) {
    for arguments in [
        &["ca", "--cluster", "counter"][..],
        &["manager", NAME],
        &["client", "prometheus"],
    ] {
        let mut certs = ostrakon(&["certs"]);
        let made = certs.args(arguments).arg("--dir").arg(folder.certs());
        let made = made.output().expect("the command was built for this test");
        assert!(made.status.success(), "{made:?}");
    }
}

fn jobs(folder: &Folder, manager: &Manager, members: &Members) -> String {
    let certs = folder.certs();
    let (certs, manager) = (
        certs.display(),
        manager.admin.trim_start_matches("https://"),
    );
    let members = members.address();
    format!(
        "\
- job_name: managers
  scheme: https
  tls_config: {{ cert_file: {certs}/prometheus.pem, key_file: {certs}/prometheus.key, insecure_skip_verify: true }}
  static_configs: [{{ targets: [\"{manager}\"] }}]
- job_name: nodes
  static_configs: [{{ targets: [\"{members}\"] }}]
"
    )
}

/// Our metrics that Prometheus has, each with the labels of all its series.
type Seen = BTreeMap<String, BTreeSet<String>>;

fn labels_by_metric(prometheus: &Prometheus, catalogue: &Catalogue) -> Seen {
    let mut seen = Seen::new();
    for series in prometheus.query("{__name__=~\"ostrakon_.+\"}") {
        let labels = series["metric"].as_object().expect("a series has labels");
        let name = labels["__name__"].as_str().expect("a series has a name");
        let metric = catalogue.name_of(name);
        let metric = metric.unwrap_or_else(|| panic!("{name} is not in docs/metrics.md"));
        let ours = labels
            .keys()
            .filter(|name| !NOT_OURS.contains(&name.as_str()));
        let known = seen.entry(metric.to_owned()).or_default();
        known.extend(ours.cloned());
    }
    seen
}

/// What could have an answer has one, with all that its legend names.
fn check_board(prometheus: &Prometheus, catalogue: &Catalogue, seen: &Seen) {
    for line in Board::read().lines() {
        let (title, plain) = (line.title, line.plain());
        let mut metrics = catalogue.named_in(line.expression).into_iter();
        if !metrics.all(|metric| seen.contains_key(metric)) {
            // Prometheus takes it at least.
            prometheus.query(&plain);
            continue;
        }
        let answer = prometheus.until_there_is(&plain);
        for label in line.labels() {
            let mut samples = answer.iter();
            let told = samples.any(|sample| sample["metric"].get(label).is_some());
            assert!(told, "{title} does not know {label}: {plain}");
        }
    }
}

fn check_rules(prometheus: &Prometheus) {
    let rules = prometheus.rules();
    assert!(rules.len() >= 6, "{rules:?}");
    for rule in rules {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let query = text(&rule["query"]);
        assert!(query.contains("ostrakon_"), "{rule}");
        prometheus.query(&query);
        for annotation in ["summary", "remedy"] {
            let said = text(&rule["annotations"][annotation]);
            assert!(said.len() > 30, "no {annotation}: {rule}");
        }
        let severity = text(&rule["labels"]["severity"]);
        assert!(
            ["critical", "warning"].contains(&severity.as_str()),
            "{rule}"
        );
    }
}
