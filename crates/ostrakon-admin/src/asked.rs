//! `Asked`: the parameters of a request, or a problem that says which of them is wrong.

use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// The part behind the `?`. Parameters that mean nothing are refused by the types that this is used with.
pub(crate) struct Asked<T>(pub(crate) T);

/// The names in the path.
pub(crate) struct Named<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        match query {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(error) => Err(Problem::bad_request(error.body_text())),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(named)) => Ok(Self(named)),
            Err(error) => Err(Problem::bad_request(error.body_text())),
        }
    }
}
