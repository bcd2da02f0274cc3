//! Which path leads where.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Body, Bytes, HttpBody},
    extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Request as Incoming, State},
    http::{Method as Verb, StatusCode, Uri, request::Parts},
    middleware::{from_fn_with_state, map_response},
    response::Response,
    routing::{get, post},
};
use ostrakon_http::never_kept;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    arguments::Arguments,
    guard,
    kind::Answer,
    office::Office,
    openapi,
    problem::Problem,
    request::{self, Mode, Request},
};

/// Everything, behind its guard.
pub(crate) fn router(office: Arc<Office>) -> Router {
    let description = openapi::describe(office.kinds.values());
    let describe = move || std::future::ready(Json(description.clone()));
    Router::new()
        .route("/v1/entities/{kind}/{id}/{method}", post(call))
        .route("/v1/entities", get(list))
        .route("/openapi.json", get(describe))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(Arc::clone(&office), guard::guarded))
        .layer(DefaultBodyLimit::max(office.settings.body))
        .layer(map_response(never_kept))
        .with_state(office)
}

/// Calls a method.
async fn call(State(office): State<Arc<Office>>, incoming: Incoming) -> Result<Response, Problem> {
    let (mut parts, body) = incoming.into_parts();
    let (kind, id, method) = named(&mut parts).await?;
    let (kind, method) = office.find(&kind, &method)?;
    let mode = Mode::of(&parts.uri)?;
    let within = request::within(&parts.headers, &office.settings)?;
    let trace = request::trace(&parts.headers);
    let body = read(&office, parts, body).await?;
    let request = Request {
        id,
        arguments: Arguments::read(&body, method)?,
        mode,
        within,
        streams: Arc::clone(&office.streams),
    };
    let called = (kind.call)(&office.node, method, request)?;
    match trace {
        Some(trace) => trace.scope(called).await,
        None => called.await,
    }
}

async fn named(parts: &mut Parts) -> Result<(String, String, String), Problem> {
    let path = Path::from_request_parts(parts, &()).await;
    match path {
        Ok(Path(names)) => Ok(names),
        Err(error) => Err(Problem::bad_request(
            error.body_text(),
            "an id in a path is UTF-8, percent-encoded",
        )),
    }
}

/// The body, if it is not too large and does not take too long.
async fn read(office: &Office, parts: Parts, body: Body) -> Result<Bytes, Problem> {
    let most = office.settings.body;
    let too_large = || {
        let error = format!("a body has at most {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error, "send less at once")
    };
    // Where the length is said beforehand, nobody has to wait for it.
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    let reading = Bytes::from_request(Incoming::from_parts(parts, body), &());
    match timeout(office.settings.patience, reading).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(too_large()),
        Ok(Err(error)) => Err(Problem::bad_request(
            error.body_text(),
            "send the body as its length says",
        )),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "the body did not arrive within {:?}",
                office.settings.patience
            ),
            "send it at once",
        )),
    }
}

/// What is exposed.
async fn list(State(office): State<Arc<Office>>) -> Json<Value> {
    let kinds = office.kinds.values().map(|kind| {
        let methods = kind.methods.iter().map(|method| {
            let arguments: Vec<&str> = method.arguments.iter().map(|a| a.name).collect();
            let answer = match method.answer {
                Answer::Value(_) | Answer::Outcome { .. } => "value",
                Answer::Items(_) => "stream",
            };
            json!({"method": method.name, "arguments": arguments, "answer": answer})
        });
        json!({"kind": kind.name, "methods": methods.collect::<Vec<_>>()})
    });
    Json(json!({"kinds": kinds.collect::<Vec<_>>()}))
}

async fn nowhere(uri: Uri) -> Problem {
    let error = format!("there is nothing at {}", uri.path());
    Problem::not_found(
        error,
        "POST /v1/entities/{kind}/{id}/{method}; GET /openapi.json says what there is",
    )
}

async fn not_so(verb: Verb, uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{} does not take {verb}", uri.path()),
        "methods are called with POST; GET /openapi.json says what there is",
    )
}
