//! `Call`: one call of a method, from arguments in JSON to an answer in JSON.
//!
//! Generic over the entity: this is where names become types.

use std::{fmt::Display, sync::Arc};

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use ostrakon::{EntityRef, MethodCaller, Methods, Node, Payload, Reply, StreamReply};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::{
    arguments::Arguments,
    items,
    kind::Method,
    problem::Problem,
    request::{Mode, Request},
};

/// A call that is ready to be made.
pub(crate) type Called = BoxFuture<'static, Result<Response, Problem>>;

/// Prepares a call. Nothing is sent before the future is polled.
pub(crate) fn call<E: Methods>(
    node: &Node,
    method: &Method,
    request: Request,
) -> Result<Called, Problem> {
    let entity = node.entity::<E>(&request.id);
    let call = Call {
        entity: entity.as_ref().clone().within(request.within),
        arguments: request.arguments,
        takes: method.takes(),
        mode: request.mode,
        streams: request.streams,
    };
    E::call(method.name, call)
}

struct Call<E: Methods> {
    entity: EntityRef<E>,
    arguments: Arguments,
    /// What the method takes, for those who got it wrong.
    takes: String,
    mode: Mode,
    streams: Arc<Semaphore>,
}

impl<E: Methods> MethodCaller<E> for Call<E> {
    type Called = Called;
    type Refused = Problem;

    fn argument<T: Payload>(&mut self, name: &'static str) -> Result<T, Problem> {
        self.arguments.take(name, &self.takes)
    }

    fn value<T: Payload>(
        self,
        message: impl FnOnce(Reply<T>) -> E::Message + Send + 'static,
    ) -> Result<Called, Problem> {
        let Self { entity, mode, .. } = self;
        Ok(Box::pin(async move {
            match mode {
                Mode::Ask => answer(&entity.ask(message).await?),
                Mode::Tell => tell(&entity, message(Reply::ignored())).await,
            }
        }))
    }

    fn outcome<T: Payload, F: Payload + Display>(
        self,
        message: impl FnOnce(Reply<Result<T, F>>) -> E::Message + Send + 'static,
    ) -> Result<Called, Problem> {
        let Self { entity, mode, .. } = self;
        Ok(Box::pin(async move {
            match mode {
                Mode::Ask => match entity.ask(message).await? {
                    Ok(value) => answer(&value),
                    Err(own) => Err(Problem::rejected(&own)),
                },
                Mode::Tell => tell(&entity, message(Reply::ignored())).await,
            }
        }))
    }

    fn items<T: Payload>(
        self,
        message: impl FnOnce(StreamReply<T>) -> E::Message + Send + 'static,
    ) -> Result<Called, Problem> {
        let Self { entity, mode, .. } = self;
        if mode == Mode::Tell {
            return Err(Problem::bad_request(
                "nobody would read the stream of a method that is told",
                "leave `?tell` out",
            ));
        }
        let place = self.streams.try_acquire_owned();
        let place = place.map_err(|_| Problem::busy("streams"))?;
        Ok(Box::pin(async move {
            let items = entity.stream(message).await?;
            Ok(items::events(items, place))
        }))
    }

    fn unknown(self) -> Problem {
        // Whoever gets here has found the method in the list.
        Problem::not_found("there is no such method here", "GET /v1/entities lists all")
    }
}

async fn tell<E: Methods>(entity: &EntityRef<E>, message: E::Message) -> Result<Response, Problem> {
    entity.tell(message).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

fn answer(value: &impl Serialize) -> Result<Response, Problem> {
    match serde_json::to_vec(value) {
        Ok(json) => Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response()),
        Err(error) => Err(Problem::not_json(&error)),
    }
}
