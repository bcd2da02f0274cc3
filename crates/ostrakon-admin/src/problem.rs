//! `Problem`: what an answer says when something cannot be done, and what to do instead.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ostrakon_council::PassError;
use ostrakon_manager::WishError;
use serde::{Deserialize, Serialize};

/// What is wrong, and what to do about it: the body of every answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub remedy: String,
    /// The manager that leads, if that is what is wrong with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    #[serde(skip)]
    status: StatusCode,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        error: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            error: error.into(),
            remedy: remedy.into(),
            leader: None,
            status,
        }
    }

    pub(crate) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            error,
            "GET /openapi.json says what is expected",
        )
    }

    pub(crate) fn not_found(error: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error, remedy)
    }

    pub(crate) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        let remedy = remedy.into();
        Self { remedy, ..self }
    }

    pub(crate) fn busy(what: &str) -> Self {
        let error = format!("too many {what} at once");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            error,
            "try again in a moment",
        )
    }
}

impl From<WishError> for Problem {
    fn from(error: WishError) -> Self {
        let text = error.to_string();
        match error {
            WishError::NotLeading { leader } => {
                let remedy = match &leader {
                    Some(leader) => format!("ask manager {leader}"),
                    None => "ask again when a manager leads".to_owned(),
                };
                let problem = Self::new(
                    StatusCode::MISDIRECTED_REQUEST,
                    "this manager does not lead",
                    remedy,
                );
                Self {
                    leader: leader.map(|leader| leader.to_string()),
                    ..problem
                }
            }
            WishError::NoSuchNode { .. } => {
                Self::not_found(text, "GET /v1/nodes lists those there are")
            }
            WishError::IsHeard { .. } => Self::new(
                StatusCode::CONFLICT,
                text,
                "to make it go, drain it; to say that it is dead, wait until it is silent",
            ),
            WishError::Frozen => Self::new(
                StatusCode::CONFLICT,
                text,
                "POST /v1/rebalancing/unfreeze first",
            ),
            WishError::Stopping | _ => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, text, "ask another manager")
            }
        }
    }
}

impl From<PassError> for Problem {
    fn from(error: PassError) -> Self {
        let text = error.to_string();
        match error {
            PassError::Refused(error) => error.into(),
            PassError::Unanswered { .. } | _ => Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                text,
                "look before asking again",
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}
