//! `ApiServer`: stands in for the API server of Kubernetes.
//!
//! It is not one. It speaks HTTP on a loopback port and gives every question the same answer, in the JSON that an API server answers with.
//! What was asked can be looked at afterwards.

use ostrakon_kubernetes::{KubernetesHealth, KubernetesSettings};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// Long enough for an answer over loopback.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends with the test's runtime.
pub(crate) struct ApiServer {
    address: SocketAddr,
    asked: mpsc::UnboundedReceiver<String>,
}

impl ApiServer {
    /// Answers with this pod.
    pub(crate) async fn with_pod(pod: Value) -> Self {
        Self::answering(200, pod.to_string()).await
    }

    /// Answers with a list of these pods.
    pub(crate) async fn with_pods(pods: &[Value]) -> Self {
        let list = json!({
            "kind": "PodList", "apiVersion": "v1", "metadata": { "resourceVersion": "81234" }, "items": pods,
        });
        Self::answering(200, list.to_string()).await
    }

    /// Answers as an API server does when it cannot or will not.
    pub(crate) async fn failing(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "details": { "kind": "pods" }, "code": code,
        });
        Self::answering(code, status.to_string()).await
    }

    pub(crate) async fn answering(code: u16, body: String) -> Self {
        let length = body.len();
        let head = "content-type: application/json\r\nconnection: close";
        let answer =
            format!("HTTP/1.1 {code} -\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        Self::start(Some(answer)).await
    }

    /// Takes every question and answers none.
    pub(crate) async fn silent() -> Self {
        Self::start(None).await
    }

    async fn start(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (tell, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut unanswered = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(question) = question(&mut stream).await else {
                    continue;
                };
                // A test need not look at what was asked.
                let _ = tell.send(question);
                match &answer {
                    Some(answer) => stream.write_all(answer.as_bytes()).await.expect("it waits"),
                    None => unanswered.push(stream),
                }
            }
        });
        Self { address, asked }
    }

    pub(crate) fn health(&self) -> KubernetesHealth {
        self.health_with(KubernetesSettings {
            deadline: PATIENCE,
            ..KubernetesSettings::default()
        })
    }

    /// With this selector, in the namespace `shop`.
    pub(crate) fn health_by(&self, selector: &str) -> KubernetesHealth {
        self.health_with(KubernetesSettings {
            namespace: Some("shop".to_owned()),
            selector: Some(selector.to_owned()),
            deadline: PATIENCE,
        })
    }

    pub(crate) fn health_with(&self, settings: KubernetesSettings) -> KubernetesHealth {
        health_at(self.address, settings)
    }

    /// The next question: its method and its path.
    pub(crate) async fn asked(&mut self) -> String {
        self.asked.recv().await.expect("it was asked")
    }

    pub(crate) fn was_not_asked(&mut self) -> bool {
        self.asked.try_recv().is_err()
    }
}

pub(crate) fn health_at(address: SocketAddr, settings: KubernetesSettings) -> KubernetesHealth {
    let url = format!("http://{address}").parse().expect("a URL");
    let client = kube::Client::try_from(kube::Config::new(url)).expect("a client");
    KubernetesHealth::with_client(client, settings)
}

async fn question(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).expect("text");
    let (question, _) = head.split_once(" HTTP/1.1").expect("a question");
    Some(question.to_owned())
}
