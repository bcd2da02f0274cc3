//! Who is served, and how many at once.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use ostrakon_http::bearer;

use crate::{office::Office, problem::Problem};

/// Lets only those through who have the token, and of them only so many. Nobody else's body is read.
pub(crate) async fn guarded(
    State(office): State<Arc<Office>>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(problem) = check(&office, request.headers()) {
        return problem.into_response();
    }
    let Ok(_place) = office.requests.try_acquire() else {
        return Problem::busy("requests").into_response();
    };
    next.run(request).await
}

fn check(office: &Office, headers: &HeaderMap) -> Result<(), Problem> {
    match bearer(headers) {
        Some(guess) if office.token.is(guess) => Ok(()),
        Some(_) => Err(unauthorized("this is not the gateway's token")),
        None => Err(unauthorized("the gateway's token is missing")),
    }
}

fn unauthorized(error: &str) -> Problem {
    let remedy = "send it as `Authorization: Bearer TOKEN`";
    Problem::new(StatusCode::UNAUTHORIZED, error, remedy)
}
