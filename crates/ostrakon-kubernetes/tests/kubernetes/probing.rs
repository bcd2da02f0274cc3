//! What is concluded from which answer.

use std::time::Duration;

use ostrakon_core::{DeathProof, Liveness, Registration};
use ostrakon_health::Health;
use ostrakon_kubernetes::KubernetesSettings;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    api_server::{ApiServer, health_at},
    pods::*,
};

/// What is said of the node if its pod is so.
async fn judged(node: &Registration, pod: Value) -> Liveness {
    let server = ApiServer::with_pod(pod).await;
    server.health().probe(node).await
}

#[track_caller]
fn assert_dead(answer: &Liveness, hint: &str) {
    let is_dead = matches!(answer, Liveness::Dead(DeathProof::Platform(why)) if why.contains(hint));
    assert!(is_dead, "{answer:?}");
}

/// A pod that has ended for good, with this container.
fn ended(guild: Value) -> Value {
    let mut pod = pod(guild);
    pod["status"]["phase"] = "Failed".into();
    pod
}

#[tokio::test]
async fn a_container_that_runs_is_alive() {
    let mut server = ApiServer::with_pod(pod(guild(0, running(), json!({})))).await;
    assert_eq!(server.health().probe(&node()).await, Liveness::Alive);
    assert_eq!(
        server.asked().await,
        "GET /api/v1/namespaces/shop/pods/guild-0"
    );
}

#[tokio::test]
async fn a_container_that_terminated_with_its_pod_is_dead() {
    let pod = ended(guild(0, terminated(FIRST), json!({})));
    assert_dead(&judged(&node(), pod).await, "OOMKilled, exit code 137");
}

#[tokio::test]
async fn a_container_that_terminated_may_have_begun_again() {
    let pod = pod(guild(0, terminated(FIRST), json!({})));
    assert_eq!(judged(&node(), pod.clone()).await, Liveness::Unknown);
    let later = saying("kubernetes.container_id", SECOND);
    assert_eq!(
        judged(&later, pod).await,
        Liveness::Unknown,
        "the status is older than the run"
    );
}

#[tokio::test]
async fn the_container_with_the_nodes_id_that_terminated_is_dead() {
    let pod = pod(guild(0, terminated(FIRST), json!({})));
    let node = saying("kubernetes.container_id", FIRST);
    assert_dead(&judged(&node, pod.clone()).await, FIRST);
    let bare = FIRST.strip_prefix("containerd://").unwrap();
    let node = saying("kubernetes.container_id", bare);
    assert_dead(&judged(&node, pod).await, FIRST);
}

#[tokio::test]
async fn after_a_restart_it_must_be_known_which_run_was_the_nodes() {
    for state in [running(), waiting()] {
        let pod = pod(guild(1, state, terminated(FIRST)));
        assert_eq!(judged(&node(), pod.clone()).await, Liveness::Unknown);
        let first = saying("kubernetes.container_id", FIRST);
        assert_dead(&judged(&first, pod.clone()).await, FIRST);
        let third = saying("kubernetes.container_id", "containerd://3");
        assert_eq!(judged(&third, pod).await, Liveness::Unknown);
    }
    let again = pod(guild(1, running(), terminated(FIRST)));
    let second = saying("kubernetes.container_id", SECOND);
    assert_eq!(judged(&second, again).await, Liveness::Alive);
}

#[tokio::test]
async fn a_mark_in_the_termination_log_tells_which_run_ended() {
    let left = format!("panicked at src/main.rs\nostrakon run {MARK}\n");
    let node = saying("kubernetes.run", MARK);
    let before = pod(guild(1, running(), terminated_leaving(FIRST, &left)));
    assert_dead(&judged(&node, before).await, FIRST);
    let now = pod(guild(0, terminated_leaving(FIRST, &left), json!({})));
    assert_dead(&judged(&node, now).await, FIRST);
    for other in [
        "",
        "ostrakon run ",
        "ostrakon run c2f1f3f0a6b94d0",
        "ostrakon run c2f1f3f0a6b94d0e0",
        MARK,
    ] {
        let pod = pod(guild(1, running(), terminated_leaving(FIRST, other)));
        assert_eq!(judged(&node, pod).await, Liveness::Unknown, "{other:?}");
    }
}

#[tokio::test]
async fn a_mark_that_others_could_have_is_none() {
    for mark in ["", "1"] {
        let left = format!("ostrakon run {mark}\n");
        let pod = pod(guild(1, running(), terminated_leaving(FIRST, &left)));
        let node = saying("kubernetes.run", mark);
        assert_eq!(judged(&node, pod).await, Liveness::Unknown, "{mark:?}");
    }
}

#[tokio::test]
async fn an_end_that_nobody_saw_is_no_proof() {
    let node = saying("kubernetes.container_id", FIRST);
    let mut guess = terminated(FIRST);
    for reason in ["ContainerStatusUnknown", "Unknown"] {
        guess["terminated"]["reason"] = reason.into();
        let pod = ended(guild(0, guess.clone(), json!({})));
        assert_eq!(judged(&node, pod).await, Liveness::Unknown, "{reason}");
    }
    let mut nameless = terminated("");
    nameless["terminated"]["containerID"] = Value::Null;
    let pod = ended(guild(0, nameless, json!({})));
    assert_eq!(judged(&node, pod).await, Liveness::Unknown);
}

#[tokio::test]
async fn a_pod_that_was_given_up_may_still_run() {
    let mut pod = ended(guild(0, terminated(FIRST), json!({})));
    pod["status"]["conditions"] = json!([
        { "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "lastTransitionTime": "2026-11-02T09:02:00Z" }
    ]);
    assert_eq!(judged(&node(), pod).await, Liveness::Unknown);
    let still_running = ended(guild(0, running(), json!({})));
    assert_eq!(
        judged(&saying("kubernetes.container_id", SECOND), still_running).await,
        Liveness::Unknown
    );
}

#[tokio::test]
async fn processes_that_are_shared_may_outlive_their_container() {
    let node = saying("kubernetes.container_id", FIRST);
    for setting in ["hostPID", "shareProcessNamespace"] {
        let mut pod = ended(guild(0, terminated(FIRST), json!({})));
        pod["spec"][setting] = true.into();
        assert_eq!(judged(&node, pod).await, Liveness::Unknown, "{setting}");
    }
}

#[tokio::test]
async fn another_pod_of_that_name_proves_nothing() {
    let mut pod = ended(guild(0, terminated(FIRST), json!({})));
    pod["metadata"]["uid"] = OTHER_UID.into();
    let node = saying("kubernetes.container_id", FIRST);
    assert_eq!(judged(&node, pod).await, Liveness::Unknown);
}

#[tokio::test]
async fn the_sidecars_end_is_not_the_nodes() {
    let mut pod = pod(guild(0, running(), json!({})));
    pod["status"]["phase"] = "Failed".into();
    pod["status"]["containerStatuses"][0]["state"] = terminated(FIRST);
    assert_eq!(judged(&node(), pod.clone()).await, Liveness::Alive);
    let silent = not_saying(&["kubernetes.container"]);
    assert_eq!(
        judged(&silent, pod.clone()).await,
        Liveness::Unknown,
        "it could be either"
    );
    pod["status"]["containerStatuses"] = json!([guild(0, terminated(FIRST), json!({}))]);
    assert_dead(&judged(&silent, pod).await, "container guild");
}

#[tokio::test]
async fn a_pod_without_a_status_says_nothing() {
    let mut bare = pod(guild(0, running(), json!({})));
    bare["status"] = json!({ "phase": "Failed", "reason": "NodeLost" });
    assert_eq!(judged(&node(), bare).await, Liveness::Unknown);
}

#[tokio::test]
async fn an_api_server_that_fails_knows_nothing() {
    for (code, reason) in [
        (404, "NotFound"),
        (403, "Forbidden"),
        (401, "Unauthorized"),
        (500, "InternalError"),
    ] {
        let server = ApiServer::failing(code, reason, "pods \"guild-0\"").await;
        assert_eq!(
            server.health().probe(&node()).await,
            Liveness::Unknown,
            "{code}"
        );
    }
    for body in [
        "",
        "<html>",
        "{}",
        "null",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"status\":7}",
    ] {
        let server = ApiServer::answering(200, body.to_owned()).await;
        assert_eq!(
            server.health().probe(&node()).await,
            Liveness::Unknown,
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_api_server_that_is_slow_or_gone_knows_nothing() {
    let settings = KubernetesSettings {
        deadline: Duration::from_millis(200),
        ..KubernetesSettings::default()
    };
    let mut server = ApiServer::silent().await;
    let health = server.health_with(settings.clone());
    assert_eq!(health.probe(&node()).await, Liveness::Unknown);
    assert_eq!(
        server.asked().await,
        "GET /api/v1/namespaces/shop/pods/guild-0"
    );

    let nobody = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let health = health_at(nobody, settings);
    assert_eq!(health.probe(&node()).await, Liveness::Unknown);
}

#[tokio::test]
async fn a_node_that_says_only_its_uid_is_found_by_the_selector() {
    let node = not_saying(&["kubernetes.pod", "kubernetes.namespace"]);
    let mut other = pod(guild(0, running(), json!({})));
    other["metadata"]["uid"] = OTHER_UID.into();
    let its = ended(guild(0, terminated(FIRST), json!({})));

    let mut server = ApiServer::with_pods(&[other.clone(), its]).await;
    assert_dead(&server.health_by("app=guild").probe(&node).await, UID);
    let asked = server.asked().await;
    assert!(
        asked.starts_with("GET /api/v1/namespaces/shop/pods?"),
        "{asked}"
    );
    assert!(asked.contains("labelSelector=app%3Dguild"), "{asked}");
    assert!(!asked.contains("resourceVersion"), "a fresh read: {asked}");

    let server = ApiServer::with_pods(&[other]).await;
    assert_eq!(
        server.health_by("app=guild").probe(&node).await,
        Liveness::Unknown
    );
    let server = ApiServer::with_pods(&[]).await;
    assert_eq!(
        server.health_by("app=guild").probe(&node).await,
        Liveness::Unknown
    );
}

#[tokio::test]
async fn what_cannot_be_asked_is_not_asked() {
    let dead = ended(guild(0, terminated(FIRST), json!({})));
    let mut server = ApiServer::with_pod(dead).await;
    let health = server.health();
    for node in [
        not_saying(&["kubernetes.pod_uid"]),
        not_saying(&["kubernetes.pod"]),
        saying("kubernetes.pod_uid", ""),
        saying("kubernetes.pod", ""),
        saying("kubernetes.pod", "../secrets/guild"),
        saying("kubernetes.pod", "guild-0?limit=1"),
        saying("kubernetes.pod", ".."),
    ] {
        assert_eq!(
            health.probe(&node).await,
            Liveness::Unknown,
            "{:?}",
            node.place
        );
        assert!(server.was_not_asked(), "{:?}", node.place);
    }
}
