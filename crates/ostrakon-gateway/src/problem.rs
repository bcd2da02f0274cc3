//! `Problem`: what an answer says when a call has not brought what was asked for.
//!
//! Its two last words are for programs: what is known about the message, and whether it may be sent again as it is.

use std::fmt::Display;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use ostrakon::Outcome;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What to write into `Retry-After`, in seconds.
const PAUSE: HeaderValue = HeaderValue::from_static("1");

/// The body of every answer that is no success.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Problem {
    /// What is wrong.
    pub(crate) error: String,
    /// What to do about it.
    pub(crate) remedy: String,
    pub(crate) outcome: Fate,
    pub(crate) retry: Retry,
    /// The entity's own error, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rejection: Option<Box<RawValue>>,
    #[serde(skip)]
    pub(crate) status: StatusCode,
}

/// What is known about the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    NotExecuted,
    Executed,
    /// The handler gave up in the middle.
    Failed,
    Unknown,
}

/// Whether the same request may be sent again as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Retry {
    /// After a pause: it was not executed, and may succeed then.
    Safe,
    /// It would fail again, or be executed twice.
    No,
}

impl Problem {
    /// One that lies in the request: nothing was sent, and the same request fails again.
    pub(crate) fn new(
        status: StatusCode,
        error: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            error: error.into(),
            remedy: remedy.into(),
            outcome: Fate::NotExecuted,
            retry: Retry::No,
            rejection: None,
            status,
        }
    }

    pub(crate) fn bad_request(error: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, remedy)
    }

    pub(crate) fn not_found(error: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error, remedy)
    }

    /// This gateway has no place left for another.
    pub(crate) fn busy(what: &str) -> Self {
        Self {
            retry: Retry::Safe,
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("too many {what} at once"),
                "try again in a moment",
            )
        }
    }

    /// The entity has answered with an error of its own.
    pub(crate) fn rejected(own: &(impl Display + Serialize)) -> Self {
        Self {
            outcome: Fate::Executed,
            rejection: to_raw_value(own).ok(),
            ..Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                own.to_string(),
                "`rejection` is the entity's own error",
            )
        }
    }

    /// There is an answer that cannot be shown.
    pub(crate) fn not_json(cause: &serde_json::Error) -> Self {
        Self {
            outcome: Fate::Executed,
            ..Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the answer cannot be put into JSON: {cause}"),
                "it was executed: do not repeat it; the method's answer needs another type",
            )
        }
    }

    /// The same for an item of a stream.
    pub(crate) fn no_event(cause: &impl Display) -> Self {
        Self {
            outcome: Fate::Executed,
            ..Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("an item cannot be put into JSON: {cause}"),
                "the method's items need another type",
            )
        }
    }
}

impl From<Outcome> for Fate {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Executed => Self::Executed,
            Outcome::NotExecuted => Self::NotExecuted,
            Outcome::FailedInHandler => Self::Failed,
            Outcome::Unknown => Self::Unknown,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry) = (self.status, self.retry);
        let mut response = (status, Json(self)).into_response();
        if retry == Retry::Safe {
            response.headers_mut().insert(header::RETRY_AFTER, PAUSE);
        }
        response
    }
}
