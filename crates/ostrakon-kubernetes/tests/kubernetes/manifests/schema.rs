//! Each document is what Kubernetes 1.33 takes for its kind, and says nothing that would be ignored.

use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    core::v1::{ConfigMap, Namespace, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
    rbac::v1::{Role, RoleBinding},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::manifest::Manifest;

#[test]
fn every_document_is_what_its_schema_says() {
    for manifest in Manifest::all() {
        let read = read_back(&manifest.json);
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", manifest.title()));
        let ignored = ignored(&manifest.json, &read, "");
        assert!(ignored.is_empty(), "{}: {ignored:?}", manifest.title());
    }
}

#[test]
fn a_key_that_nobody_knows_is_noticed_wherever_it_is() {
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "a" },
        "spec": {
            "selector": {}, "serviceName": "a", "replica": 2,
            "template": { "spec": { "containers": [{ "name": "a", "ports": [{ "containerport": 1, "containerPort": 1 }] }] } },
        },
    });
    let found = ignored(&set, &read_back(&set).unwrap(), "");
    assert_eq!(
        found,
        [
            "/spec/replica",
            "/spec/template/spec/containers/0/ports/0/containerport"
        ]
    );
    let wrong = json!({ "apiVersion": "v1", "kind": "Service", "spec": { "ports": "all" } });
    assert!(read_back(&wrong).is_err());
}

/// What the document is once it has been read as what it says it is.
fn read_back(document: &Value) -> Result<Value, serde_json::Error> {
    let said = (document["apiVersion"].as_str(), document["kind"].as_str());
    match (said.0.unwrap_or_default(), said.1.unwrap_or_default()) {
        ("v1", "ConfigMap") => through::<ConfigMap>(document),
        ("v1", "Namespace") => through::<Namespace>(document),
        ("v1", "Service") => through::<Service>(document),
        ("v1", "ServiceAccount") => through::<ServiceAccount>(document),
        ("apps/v1", "Deployment") => through::<Deployment>(document),
        ("apps/v1", "StatefulSet") => through::<StatefulSet>(document),
        ("networking.k8s.io/v1", "NetworkPolicy") => through::<NetworkPolicy>(document),
        ("policy/v1", "PodDisruptionBudget") => through::<PodDisruptionBudget>(document),
        ("rbac.authorization.k8s.io/v1", "Role") => through::<Role>(document),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => through::<RoleBinding>(document),
        other => panic!("{other:?} is nothing that is known here"),
    }
}

fn through<T: Serialize + DeserializeOwned>(document: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(document.clone())?)
}

/// What is in the source and not in what was made of it.
fn ignored(source: &Value, read: &Value, place: &str) -> Vec<String> {
    match (source, read) {
        (Value::Object(source), Value::Object(read)) => {
            let each = source
                .iter()
                .map(|(key, value)| (key, value, read.get(key)));
            each.flat_map(|(key, value, read)| {
                let place = format!("{place}/{key}");
                match read {
                    Some(read) => ignored(value, read, &place),
                    None => vec![place],
                }
            })
            .collect()
        }
        (Value::Array(source), Value::Array(read)) if source.len() == read.len() => {
            let each = source.iter().zip(read).enumerate();
            each.flat_map(|(n, (source, read))| ignored(source, read, &format!("{place}/{n}")))
                .collect()
        }
        (source, read) if source == read => Vec::new(),
        _ => vec![place.to_owned()],
    }
}
