//! Which path leads where.
//!
//! Invariant: `openapi.json` has exactly these, and whatever changes something is in the list that needs authentication.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{Method, StatusCode, Uri},
    middleware::{from_fn_with_state, map_response},
    routing::{MethodRouter, get, post},
};
use ostrakon_http::never_kept;

use crate::{
    assignments, changes, dashboard, events, explanation, guard, load, node, office::Office,
    probes, problem::Problem, shard, status,
};

type Route = (&'static str, MethodRouter<Arc<Office>>);

fn reads() -> Vec<Route> {
    vec![
        ("/", get(dashboard::page)),
        ("/dashboard/{file}", get(dashboard::file)),
        ("/v1/status", get(status::get)),
        ("/v1/nodes", get(node::list)),
        ("/v1/nodes/{name}", get(node::get)),
        ("/v1/shards", get(shard::list)),
        ("/v1/assignments", get(assignments::get)),
        ("/v1/load", get(load::get)),
        ("/v1/events", get(events::page)),
        ("/v1/events/stream", get(events::stream)),
        ("/v1/explain", get(explanation::of_entity)),
        ("/v1/explain/{group}/{shard}", get(explanation::of_shard)),
        ("/healthz", get(probes::healthz)),
        ("/readyz", get(probes::readyz)),
        ("/metrics", get(probes::metrics)),
        ("/openapi.json", get(probes::openapi)),
    ]
}

fn changes() -> Vec<Route> {
    vec![
        ("/v1/nodes/{name}/drain", post(changes::drain)),
        ("/v1/nodes/{name}/confirm-dead", post(changes::confirm_dead)),
        ("/v1/rebalance", post(changes::rebalance)),
        ("/v1/rebalancing/freeze", post(changes::freeze)),
        ("/v1/rebalancing/unfreeze", post(changes::unfreeze)),
    ]
}

/// Everything, behind its guards.
pub(crate) fn router(office: Arc<Office>) -> Router {
    let add = |router: Router<_>, (path, handler): Route| router.route(path, handler);
    let changes = changes().into_iter().fold(Router::new(), add);
    let authenticated = from_fn_with_state(Arc::clone(&office), guard::authenticated);
    let changes = changes.route_layer(authenticated);
    let all = reads().into_iter().fold(changes, add);
    all.fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(Arc::clone(&office), guard::bounded))
        .layer(DefaultBodyLimit::max(guard::LARGEST_BODY))
        .layer(map_response(never_kept))
        .with_state(office)
}

async fn nowhere(uri: Uri) -> Problem {
    let error = format!("there is nothing at {}", uri.path());
    Problem::not_found(error, "GET /openapi.json says what there is")
}

async fn not_so(method: Method, uri: Uri) -> Problem {
    let error = format!("{} does not take {method}", uri.path());
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        error,
        "GET /openapi.json says what it takes",
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_description_has_every_route_and_no_other() {
        let described: serde_json::Value = serde_json::from_str(probes::OPENAPI).unwrap();
        let paths = described["paths"].as_object().unwrap();
        let with = |method: &str| {
            let those = paths.iter().filter(|(_, item)| item.get(method).is_some());
            those
                .map(|(path, _)| path.as_str())
                .collect::<BTreeSet<_>>()
        };
        let own = |routes: Vec<Route>| {
            routes
                .into_iter()
                .map(|(path, _)| path)
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(with("get"), own(reads()));
        assert_eq!(with("post"), own(changes()));
        assert_eq!(paths.len(), reads().len() + changes().len());
    }

    #[test]
    fn whatever_changes_something_is_described_as_needing_authentication() {
        let described: serde_json::Value = serde_json::from_str(probes::OPENAPI).unwrap();
        for (path, _) in changes() {
            assert!(
                described["paths"][path]["post"]["security"].is_array(),
                "{path}"
            );
        }
        for (path, _) in reads() {
            assert!(
                described["paths"][path]["get"]["security"].is_null(),
                "{path}"
            );
        }
    }
}
