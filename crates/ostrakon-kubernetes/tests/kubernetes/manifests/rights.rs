//! What the manager may ask of Kubernetes is what it asks, and nobody else may ask anything.

use ostrakon_health::Health;
use serde_json::json;

use super::{
    manifest::{Manifest, text},
    workload::Workload,
};
use crate::{
    api_server::ApiServer,
    pods::{guild, node, pod, running},
};

/// The command asks with the default settings: what it asks is what a role has to allow.
#[tokio::test]
async fn the_role_allows_what_is_asked_and_no_more() {
    let mut server = ApiServer::with_pod(pod(guild(0, running(), json!({})))).await;
    let health = server.health();
    health.check().await.unwrap();
    health.probe(&node()).await;
    for _ in 0..2 {
        let asked = server.asked().await;
        let (method, path) = asked.split_once(' ').unwrap();
        assert_eq!(method, "GET");
        let rest = path.strip_prefix("/api/v1/namespaces/").unwrap();
        let [_, "pods", name] = rest.split('/').collect::<Vec<_>>()[..] else {
            panic!("{path} is not one pod")
        };
        assert!(!name.contains('?'), "{name}");
    }
    assert!(server.was_not_asked());

    let role = &Manifest::of_kind("Role")[0];
    let one_pod = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    assert_eq!(role.json["rules"], one_pod);
}

#[test]
fn only_the_manager_has_an_account_and_only_it_has_the_role() {
    let [account, role, binding] =
        ["ServiceAccount", "Role", "RoleBinding"].map(|kind| Manifest::of_kind(kind).remove(0));
    assert_eq!(binding.json["roleRef"]["name"], role.name());
    assert_eq!(binding.json["roleRef"]["kind"], role.kind());
    let subjects =
        json!([{ "kind": "ServiceAccount", "name": account.name(), "namespace": "ostrakon" }]);
    assert_eq!(binding.json["subjects"], subjects);
    assert_eq!(account.json["automountServiceAccountToken"], false);
    for workload in Workload::all() {
        let is_manager = workload.0.name() == "ostrakon-manager";
        let pod = workload.pod();
        assert_eq!(pod["automountServiceAccountToken"], is_manager);
        assert_eq!(pod.get("serviceAccountName").is_some(), is_manager);
        if is_manager {
            assert_eq!(text(&pod["serviceAccountName"]), account.name());
        }
    }
}

/// Without these Kubernetes could not say which run of which container has ended.
#[test]
fn a_node_that_hosts_says_which_pod_it_is() {
    let node = Workload(Manifest::named("StatefulSet", "counter").expect("it is there"));
    let environment = node.environment();
    for (variable, field) in [
        ("POD_UID", "metadata.uid"),
        ("POD_NAME", "metadata.name"),
        ("POD_NAMESPACE", "metadata.namespace"),
    ] {
        let said = environment.iter().find(|(name, _)| *name == variable);
        let (_, from) = said.expect(variable);
        assert_eq!(from["fieldRef"]["fieldPath"], field);
    }
}
