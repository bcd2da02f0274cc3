//! `Request`: what a caller wants, apart from the kind and the method.

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderMap, Uri};
use ostrakon::TraceContext;
use tokio::sync::Semaphore;

use crate::{arguments::Arguments, problem::Problem, settings::GatewaySettings};

/// How long the call may take, in milliseconds.
pub(crate) const TIMEOUT: &str = "ostrakon-timeout";

/// What is asked of one entity.
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) arguments: Arguments,
    pub(crate) mode: Mode,
    pub(crate) within: Duration,
    /// Where a stream takes its place.
    pub(crate) streams: Arc<Semaphore>,
}

/// Whether the caller waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Ask,
    Tell,
}

impl Mode {
    pub(crate) fn of(uri: &Uri) -> Result<Self, Problem> {
        match uri.query() {
            None | Some("") => Ok(Self::Ask),
            Some("tell") => Ok(Self::Tell),
            Some(other) => Err(Problem::bad_request(
                format!("`?{other}` means nothing here"),
                "send `?tell` to wait for no answer, or nothing; arguments belong into the body",
            )),
        }
    }
}

/// How long the call may take.
pub(crate) fn within(headers: &HeaderMap, settings: &GatewaySettings) -> Result<Duration, Problem> {
    let Some(header) = headers.get(TIMEOUT) else {
        return Ok(settings.timeout);
    };
    let most = settings.longest_timeout.as_millis();
    let text = header.to_str().unwrap_or_default().trim();
    match text.parse::<u64>() {
        Ok(millis) if millis > 0 && u128::from(millis) <= most => Ok(Duration::from_millis(millis)),
        _ => Err(Problem::bad_request(
            format!("Ostrakon-Timeout cannot be `{text}`"),
            format!("send 1 to {most}, in milliseconds"),
        )),
    }
}

/// The trace that the caller is part of. One that cannot be read is none, as the standard has it.
pub(crate) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    headers.get("traceparent")?.to_str().ok()?.parse().ok()
}
