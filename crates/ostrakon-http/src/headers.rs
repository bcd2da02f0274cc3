//! The headers that every server reads and writes alike.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

/// The token that a request shows, if it shows one.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Finishes an answer: it is for now only, and nothing for a browser to guess about. Whoever is not known learns how to say who it is.
pub async fn never_kept(mut answer: Response) -> Response {
    let is_stranger = answer.status() == StatusCode::UNAUTHORIZED;
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if is_stranger {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}
