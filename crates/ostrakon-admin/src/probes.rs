//! Whether the manager lives, whether it is of use, and its metrics.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{office::Office, problem::Problem};

/// The description of all routes.
pub(crate) const OPENAPI: &str = include_str!("../openapi.json");

/// Alive: the manager answers.
pub(crate) async fn healthz(State(office): State<Arc<Office>>) -> Result<&'static str, Problem> {
    office.front.desk().knock().await?;
    Ok("ok\n")
}

/// Ready: it has read the log, so what it says of the cluster is so.
pub(crate) async fn readyz(State(office): State<Arc<Office>>) -> Result<&'static str, Problem> {
    office.front.desk().knock().await?;
    if office.front.desk().view().has_read() {
        return Ok("ready\n");
    }
    let remedy = "wait; if it takes long, its storage cannot be reached: see its log";
    Err(Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the log has not been read yet",
        remedy,
    ))
}

pub(crate) async fn metrics(State(office): State<Arc<Office>>) -> Result<Response, Problem> {
    let Some(render) = &office.metrics else {
        return Err(Problem::not_found(
            "this process keeps no metrics",
            "run `ostrakon manager`, which does",
        ));
    };
    let text = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((text, render()).into_response())
}

pub(crate) async fn openapi() -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, OPENAPI).into_response()
}
