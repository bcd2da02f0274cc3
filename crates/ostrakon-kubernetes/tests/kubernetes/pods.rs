//! Pods as an API server shows them, and what a node in one of them registers.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_core::{NodeName, NodeVersion, Registration};
use serde_json::{Value, json};

pub(crate) const UID: &str = "0b6d3a52-7d0e-4f7b-9a57-5a2f0c1f6b11";
pub(crate) const OTHER_UID: &str = "f3c0f4a8-2a86-4a1e-8a35-6f8a9c3e0d22";
pub(crate) const FIRST: &str =
    "containerd://1f0c6f1e9d3b4a58a1f2d7c9e6b5a4938271605f4e3d2c1b0a9f8e7d6c5b4a39";
pub(crate) const SECOND: &str =
    "containerd://2e1d7a2f8c4b5a69b2e3d8c0f7a6b5049382716f5e4d3c2b1a0f9e8d7c6b5a48";
pub(crate) const MARK: &str = "c2f1f3f0a6b94d0e";

/// In a pod of this UID, as its environment says it.
pub(crate) fn node() -> Registration {
    let place = [
        ("kubernetes.pod_uid", UID),
        ("kubernetes.pod", "guild-0"),
        ("kubernetes.namespace", "shop"),
        ("kubernetes.container", "guild"),
    ];
    Registration {
        name: NodeName::new("guild-0").expect("a name"),
        address: "10.244.1.17:7600".to_owned(),
        nonce: 1,
        version: NodeVersion::new("1"),
        roles: BTreeSet::new(),
        weight: 1,
        groups: Vec::new(),
        place: place
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    }
}

pub(crate) fn saying(name: &str, value: &str) -> Registration {
    let mut node = node();
    node.place.insert(name.to_owned(), value.to_owned());
    node
}

pub(crate) fn not_saying(names: &[&str]) -> Registration {
    let mut node = node();
    let said: BTreeMap<_, _> = std::mem::take(&mut node.place);
    let kept = said
        .into_iter()
        .filter(|(name, _)| !names.contains(&name.as_str()));
    node.place = kept.collect();
    node
}

/// A pod with a sidecar whose container `guild` has this status.
pub(crate) fn pod(guild: Value) -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "guild-0",
            "generateName": "guild-",
            "namespace": "shop",
            "uid": UID,
            "resourceVersion": "81220",
            "creationTimestamp": "2026-11-02T08:15:30Z",
            "labels": { "app": "guild", "controller-revision-hash": "guild-6d5f85cbb8", "apps.kubernetes.io/pod-index": "0" },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "guild",
                "uid": "7c1b6e2d-50c8-4df7-b6a9-0f6e0d7d3b33", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": [
                { "name": "guild", "image": "registry.example/guild:1", "terminationMessagePath": "/dev/termination-log",
                  "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent", "resources": {} },
                { "name": "proxy", "image": "registry.example/proxy:3", "resources": {} },
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "guild",
            "nodeName": "worker-2",
            "schedulerName": "default-scheduler",
        },
        "status": {
            "phase": "Running",
            "conditions": [
                { "type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-11-02T08:15:34Z" },
            ],
            "hostIP": "10.0.0.12",
            "podIP": "10.244.1.17",
            "podIPs": [{ "ip": "10.244.1.17" }],
            "startTime": "2026-11-02T08:15:30Z",
            "containerStatuses": [container("proxy", 0, running(), json!({})), guild],
            "qosClass": "BestEffort",
        },
    })
}

/// The status of the container of the node. Its id is that of the state, as the API server has it.
pub(crate) fn guild(restarts: u32, state: Value, last_state: Value) -> Value {
    container("guild", restarts, state, last_state)
}

fn container(name: &str, restarts: u32, state: Value, last_state: Value) -> Value {
    let ended_as = state["terminated"]["containerID"]
        .as_str()
        .map(str::to_owned);
    let id = ended_as.unwrap_or_else(|| if restarts == 0 { FIRST } else { SECOND }.to_owned());
    json!({
        "name": name, "state": state, "lastState": last_state, "ready": state.get("running").is_some(),
        "restartCount": restarts, "image": format!("registry.example/{name}:1"),
        "imageID": "registry.example/guild@sha256:5d1f", "containerID": id, "started": true,
    })
}

pub(crate) fn running() -> Value {
    json!({ "running": { "startedAt": "2026-11-02T08:15:33Z" } })
}

pub(crate) fn waiting() -> Value {
    json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container" } })
}

pub(crate) fn terminated(id: &str) -> Value {
    json!({
        "terminated": {
            "exitCode": 137, "reason": "OOMKilled", "startedAt": "2026-11-02T08:15:33Z",
            "finishedAt": "2026-11-02T09:01:12Z", "containerID": id,
        }
    })
}

/// With this in its termination log.
pub(crate) fn terminated_leaving(id: &str, message: &str) -> Value {
    let mut state = terminated(id);
    state["terminated"]["message"] = message.into();
    state
}
