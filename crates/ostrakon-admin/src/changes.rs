//! What operators can change.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ostrakon_core::{NodeName, Rebalancing};
use ostrakon_manager::Wish;
use serde::{Deserialize, Serialize};

use crate::{
    asked::{Asked, Named},
    office::Office,
    planned_round::PlannedRound,
    problem::Problem,
};

/// The most bytes of an operator's word that someone is dead.
const LONGEST_WORD: usize = 1000;

/// A change that has been taken up. What comes of it shows in the events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenUp {
    /// What is going to happen.
    pub taken_up: String,
}

/// How an operator knows that a node is dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeathNotice {
    /// How the operator knows; it is written into the log.
    pub word: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct How {
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn drain(
    State(office): State<Arc<Office>>,
    Named(node): Named<NodeName>,
) -> Result<Response, Problem> {
    let taken_up = format!("{node} gives its shards up and goes");
    wish(&office, Wish::Drain { node }, taken_up).await
}

pub(crate) async fn confirm_dead(
    State(office): State<Arc<Office>>,
    Named(node): Named<NodeName>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let DeathNotice { word } = notice(body)?;
    let taken_up = format!("{node} is over, and its shards go to others");
    wish(&office, Wish::ConfirmDead { node, word }, taken_up).await
}

pub(crate) async fn rebalance(
    State(office): State<Arc<Office>>,
    Asked(how): Asked<How>,
) -> Result<Response, Problem> {
    if how.dry_run {
        let plan = office.front.plan().await?;
        let round = office.look(|view| PlannedRound::of(view.state(), &plan));
        return Ok(Json(round).into_response());
    }
    wish(
        &office,
        Wish::Rebalance,
        "a round of balancing begins".to_owned(),
    )
    .await
}

pub(crate) async fn freeze(State(office): State<Arc<Office>>) -> Result<Response, Problem> {
    let taken_up = "no shard is moved for the sake of balance; those without an owner and those of leaving nodes still are";
    let frozen = Wish::SetRebalancing(Rebalancing::Frozen);
    wish(&office, frozen, taken_up.to_owned()).await
}

pub(crate) async fn unfreeze(State(office): State<Arc<Office>>) -> Result<Response, Problem> {
    let on = Wish::SetRebalancing(Rebalancing::On);
    wish(
        &office,
        on,
        "shards are moved for the sake of balance again".to_owned(),
    )
    .await
}

async fn wish(office: &Office, wish: Wish, taken_up: String) -> Result<Response, Problem> {
    office.front.wish(wish).await?;
    Ok((StatusCode::ACCEPTED, Json(TakenUp { taken_up })).into_response())
}

fn notice(body: Result<Bytes, BytesRejection>) -> Result<DeathNotice, Problem> {
    let body = body.map_err(|rejection| {
        Problem::new(
            rejection.status(),
            rejection.body_text(),
            "send a small JSON object",
        )
    })?;
    let notice: DeathNotice = serde_json::from_slice(&body).map_err(|error| {
        let remedy = r#"send {"word": "how you know that it is dead"}"#;
        Problem::bad_request(error.to_string()).with_remedy(remedy)
    })?;
    if notice.word.trim().is_empty() || notice.word.len() > LONGEST_WORD {
        let error = format!("the word has {} bytes", notice.word.len());
        let remedy = format!("say in 1 to {LONGEST_WORD} bytes how you know that it is dead");
        return Err(Problem::bad_request(error).with_remedy(remedy));
    }
    Ok(notice)
}
