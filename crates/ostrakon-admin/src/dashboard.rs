//! The dashboard: one page that shows the cluster as it changes.
//!
//! Its files are part of the program and nothing comes from elsewhere; the browser is told to see to that. The page is a caller of the
//! admin API like any other: it knows nothing and may do nothing that others could not.

use axum::{
    http::{HeaderName, header},
    response::{IntoResponse, Response},
};

use crate::{asked::Named, problem::Problem};

/// What the page may do: load its own files, call its own server, and nothing else. Nobody may put it into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const GUARDED: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../assets/", $name)))),*]
    };
}

const FILES: [(&str, &str); 16] = files![
    "api.js",
    "cluster.js",
    "dashboard.css",
    "event_log.js",
    "explain.js",
    "figures.js",
    "glance.js",
    "hot.js",
    "icon.svg",
    "main.js",
    "node_table.js",
    "operate.js",
    "page.js",
    "plot.js",
    "shard_map.js",
    "theme.js",
];

pub(crate) async fn page() -> Response {
    served(
        "text/html; charset=utf-8",
        include_str!("../assets/index.html"),
    )
}

pub(crate) async fn file(Named(name): Named<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(known, _)| *known == name);
    let Some((_, text)) = found else {
        let error = format!("the dashboard has no file `{name}`");
        return Err(Problem::not_found(error, "GET / is the dashboard"));
    };
    Ok(served(kind_of(&name), text))
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

fn served(kind: &'static str, text: &'static str) -> Response {
    (GUARDED, [(header::CONTENT_TYPE, kind)], text).into_response()
}
