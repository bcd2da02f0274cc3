//! `Client`: sends a request to the admin API of a manager.

use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use ostrakon_admin::{Problem, Token};
use ostrakon_tls::Security;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// How long to wait for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// The most bytes of an answer.
const LARGEST: usize = 256 * 1024 * 1024;

/// Sends a request to the admin API of a manager.
pub(crate) struct Client {
    pub(crate) address: String,
    pub(crate) security: Security,
    pub(crate) token: Option<Token>,
}

/// The manager says that something is not there.
#[derive(Debug, thiserror::Error)]
#[error("{}\n  {}", .0.error, .0.remedy)]
pub(crate) struct NotThere(Problem);

impl Client {
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, body).await
    }

    /// What a page says that is no JSON, where it says something.
    pub(crate) async fn get_text(&self, path: &str) -> anyhow::Result<String> {
        let body = self.answer(Method::GET, path, None).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let body = self.answer(method, path, body).await?;
        serde_json::from_slice(&body)
            .context("the answer is no JSON: is that the admin API of a manager?")
    }

    /// The body of an answer that is no refusal.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Bytes> {
        let request = self
            .request(method, path)
            .header(CONTENT_TYPE, "application/json");
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let asked = self.send(request.body(Full::new(body))?);
        let response = timeout(ANSWER, asked)
            .await
            .context("no answer in time")??;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect();
        let body = timeout(ANSWER, body).await.context("no answer in time")?;
        let body = body
            .map_err(|error| anyhow::anyhow!("the answer broke off: {error}"))?
            .to_bytes();
        match status.is_success() {
            true => Ok(body),
            false => Err(refused(status, &body)),
        }
    }

    /// Follows events behind the last one that was seen, or from a number on.
    pub(crate) async fn follow(
        &self,
        since: Option<u64>,
        last: Option<&str>,
    ) -> anyhow::Result<Incoming> {
        let path = since.map_or_else(
            || "/v1/events/stream".to_owned(),
            |since| format!("/v1/events/stream?since={since}"),
        );
        let mut request = self.request(Method::GET, &path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let asked = self.send(request.body(Full::default())?);
        let response = timeout(ANSWER, asked)
            .await
            .context("no answer in time")??;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response.into_body());
        }
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("the answer broke off: {error}"))?;
        Err(refused(status, &body.to_bytes()))
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.address);
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {}", token.reveal())),
            None => request,
        }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        let address = &self.address;
        let nobody = || {
            format!(
                "no manager or peer answers at {address}: is it running? `--manager URL` or OSTRAKON_ADMIN says where it is"
            )
        };
        let connected = timeout(CONNECT, async {
            let stream = TcpStream::connect(address).await?;
            self.security.connect(stream).await
        });
        let secured = connected.await.with_context(nobody)?.with_context(nobody)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(secured.wire)).await?;
        tokio::spawn(connection);
        sender.send_request(request).await.with_context(|| {
            format!("the manager at {address} did not answer: if it has certificates, use https:// with --as NAME")
        })
    }
}

fn refused(status: StatusCode, body: &[u8]) -> anyhow::Error {
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) if status == StatusCode::NOT_FOUND => NotThere(problem).into(),
        Ok(problem) => anyhow::anyhow!("{}\n  {}", problem.error, problem.remedy),
        Err(_) => anyhow::anyhow!("the answer is {status}: is that the admin API of a manager?"),
    }
}

/// A text as a part of a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

/// The answer as what it should be.
pub(crate) fn read<T: serde::de::DeserializeOwned>(answer: Value) -> anyhow::Result<T> {
    serde_json::from_value(answer)
        .context("the answer is not understood: manager and command have different versions")
}

/// Fails where a manager could not be asked at all, and not where it said no.
pub(crate) fn is_not_there(error: &anyhow::Error) -> bool {
    error.is::<NotThere>()
}

/// Prints an answer for tools.
pub(crate) fn print_json(answer: &Value) -> anyhow::Result<()> {
    if answer.is_null() {
        bail!("there was no answer");
    }
    println!("{answer:#}");
    Ok(())
}
