//! Who may do what, and how much at once.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use ostrakon_http::{Caller, bearer};
use ostrakon_tls::Role;

use crate::{office::Office, problem::Problem};

/// The most bytes of a body.
pub(crate) const LARGEST_BODY: usize = 64 * 1024;

/// Answers so many requests at once, and none of them forever.
pub(crate) async fn bounded(
    State(office): State<Arc<Office>>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(_place) = office.requests.try_acquire() else {
        return Problem::busy("requests").into_response();
    };
    if announced(request.headers()) > LARGEST_BODY {
        let error = format!("a body has at most {LARGEST_BODY} bytes");
        let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, error, "send less");
        return problem.into_response();
    }
    match tokio::time::timeout(office.answer_within, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let error = format!("no answer within {:?}", office.answer_within);
            let remedy = "whether a change was taken up is not known: look before asking again";
            Problem::new(StatusCode::GATEWAY_TIMEOUT, error, remedy).into_response()
        }
    }
}

/// How long the body is going to be, where that is said beforehand. It is measured in any case.
fn announced(headers: &HeaderMap) -> usize {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    length.map_or(0, |length| length.parse().unwrap_or(usize::MAX))
}

/// Lets only those through who may change things. Nobody else's body is read.
pub(crate) async fn authenticated(
    State(office): State<Arc<Office>>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Caller>();
    match check(&office, caller, request.headers()) {
        Ok(who) => {
            tracing::info!(
                who,
                path = request.uri().path(),
                "an operator wants a change"
            );
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Who it is that may change things.
fn check(office: &Office, caller: Option<&Caller>, headers: &HeaderMap) -> Result<String, Problem> {
    if let Some(Caller(Some(identity))) = caller
        && identity.role() == Role::Admin
    {
        return Ok(identity.to_string());
    }
    let Some(token) = &office.token else {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "nobody may change anything through this manager: it has no admin token",
            "start it with `--admin-token-file FILE` or with OSTRAKON_ADMIN_TOKEN set, or with TLS and use an admin's certificate",
        ));
    };
    match bearer(headers) {
        Some(guess) if token.is(guess) => Ok("bearer of the admin token".to_owned()),
        Some(_) => Err(unauthorized("this is not the admin token")),
        None => Err(unauthorized("changes need the admin token")),
    }
}

fn unauthorized(error: &str) -> Problem {
    let remedy = "send it as `Authorization: Bearer TOKEN`; `ostrakon` takes it from --token-file or OSTRAKON_ADMIN_TOKEN";
    Problem::new(StatusCode::UNAUTHORIZED, error, remedy)
}
