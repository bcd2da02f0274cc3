//! What a check at the start of a manager finds.

use std::time::Duration;

use ostrakon_health::Health;
use ostrakon_kubernetes::{AskError, KubernetesSettings};
use serde_json::json;

use crate::{
    api_server::ApiServer,
    pods::{guild, pod, running},
};

#[tokio::test]
async fn a_selector_that_finds_nothing_is_a_mistake() {
    let server = ApiServer::with_pods(&[]).await;
    let error = server.health_by("app=gild").check().await.unwrap_err();
    assert!(!error.is_retryable());
    let text = error.to_string();
    assert!(
        text.contains("\"app=gild\"") && text.contains("\"shop\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_selector_that_finds_a_pod_is_right() {
    let mut server = ApiServer::with_pods(&[pod(guild(0, running(), json!({})))]).await;
    server.health_by("app=guild").check().await.unwrap();
    let asked = server.asked().await;
    assert!(
        asked.contains("labelSelector=app%3Dguild") && asked.contains("limit=1"),
        "{asked}"
    );
}

#[tokio::test]
async fn without_a_selector_only_the_permission_is_checked() {
    let mut server = ApiServer::failing(404, "NotFound", "pods \"ostrakon-check\" not found").await;
    server.health().check().await.unwrap();
    assert_eq!(
        server.asked().await,
        "GET /api/v1/namespaces/default/pods/ostrakon-check"
    );
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let message = "pods is forbidden: User \"system:serviceaccount:shop:default\" cannot get resource \"pods\"";
    for (code, reason) in [(403, "Forbidden"), (401, "Unauthorized")] {
        let server = ApiServer::failing(code, reason, message).await;
        for health in [server.health(), server.health_by("app=guild")] {
            let error = health.check().await.unwrap_err();
            assert!(matches!(error, AskError::Forbidden { .. }), "{error:?}");
            assert!(error.to_string().contains("verb get on pods"), "{error}");
            assert!(!error.is_retryable());
        }
    }
}

#[tokio::test]
async fn a_check_ends_by_its_deadline() {
    let deadline = Duration::from_millis(200);
    let server = ApiServer::silent().await;
    let health = server.health_with(KubernetesSettings {
        deadline,
        ..KubernetesSettings::default()
    });
    let error = health.check().await.unwrap_err();
    assert!(
        matches!(error, AskError::TimedOut(after) if after == deadline),
        "{error:?}"
    );
    assert!(error.is_retryable());
    assert_eq!(health.name(), "kubernetes");
}

#[tokio::test]
async fn an_error_of_the_server_may_pass() {
    let server = ApiServer::failing(500, "InternalError", "etcdserver: request timed out").await;
    let error = server.health().check().await.unwrap_err();
    assert!(matches!(error, AskError::Failed(_)), "{error:?}");
    assert!(error.is_retryable());
}
