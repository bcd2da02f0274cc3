//! Who may talk to whom: each policy is about pods that are there, and about ports that they have.

use serde_json::Value;

use super::{
    manifest::{Manifest, items},
    workload::Workload,
};

#[test]
fn every_workload_has_a_policy_for_both_directions() {
    let mut covered = Vec::new();
    for policy in Manifest::of_kind("NetworkPolicy") {
        let selected = Workload::selected_by(policy.at("/spec/podSelector/matchLabels"));
        assert_eq!(selected.len(), 1, "{}", policy.title());
        let types = policy.at("/spec/policyTypes");
        assert_eq!(*types, serde_json::json!(["Ingress", "Egress"]));
        covered.push(selected[0].0.name().to_owned());
    }
    covered.sort();
    assert_eq!(covered, ["counter", "counter-web", "ostrakon-manager"]);
}

#[test]
fn what_may_come_in_comes_to_ports_that_are_there() {
    for policy in Manifest::of_kind("NetworkPolicy") {
        let selected = Workload::selected_by(policy.at("/spec/podSelector/matchLabels"));
        let mut open = Vec::new();
        for rule in items(policy.at("/spec/ingress")) {
            for pods in pods_of(&rule["from"]) {
                assert!(!Workload::selected_by(pods).is_empty(), "{pods}");
            }
            for port in items(&rule["ports"]) {
                assert!(selected[0].has_port(&port["port"]), "{port}");
                open.push(&port["port"]);
            }
        }
        for port in items(&selected[0].container()["ports"]) {
            assert!(open.contains(&&port["name"]), "nobody may come to {port}");
        }
    }
}

#[test]
fn what_may_go_out_goes_to_ports_that_are_there_and_are_open() {
    for policy in Manifest::of_kind("NetworkPolicy") {
        let sender = Workload::selected_by(policy.at("/spec/podSelector/matchLabels"));
        for rule in items(policy.at("/spec/egress")) {
            for pods in pods_of(&rule["to"]) {
                let receivers = Workload::selected_by(pods);
                assert_eq!(receivers.len(), 1, "{pods}");
                for port in items(&rule["ports"]) {
                    assert!(receivers[0].has_port(&port["port"]), "{port}");
                    assert!(lets_in(&receivers[0], &sender[0], &port["port"]), "{port}");
                }
            }
        }
    }
}

/// The selectors of pods in a rule's list of others.
fn pods_of(others: &Value) -> Vec<&Value> {
    let others = items(others).iter();
    others
        .filter_map(|other| other.pointer("/podSelector/matchLabels"))
        .collect()
}

/// Whether a policy of the receiver lets the sender come to this port, which is a number.
fn lets_in(receiver: &Workload, sender: &Workload, number: &Value) -> bool {
    let ports = items(&receiver.container()["ports"]);
    let port = ports.iter().find(|port| port["containerPort"] == *number);
    let name = &port.expect("it is there")["name"];
    let policies = Manifest::of_kind("NetworkPolicy");
    let rules = policies.iter().filter(|policy| {
        let selected = Workload::selected_by(policy.at("/spec/podSelector/matchLabels"));
        selected[0].0.name() == receiver.0.name()
    });
    let mut rules = rules.flat_map(|policy| items(policy.at("/spec/ingress")));
    rules.any(|rule| {
        let is_open = items(&rule["ports"])
            .iter()
            .any(|open| open["port"] == *name);
        let mut senders = pods_of(&rule["from"])
            .into_iter()
            .flat_map(Workload::selected_by);
        is_open && senders.any(|allowed| allowed.0.name() == sender.0.name())
    })
}
