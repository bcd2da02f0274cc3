//! Traces: every request is a span, and what it asks of entities is part of it.
//!
//! They go to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names, as in `http://localhost:4317`; nowhere if it is not set.

use std::env;

use axum::{extract::Request, middleware::Next, response::Response};
use ostrakon::TraceContext;
use ostrakon_otel::Traces;
use tracing::Instrument;
use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};

pub(crate) fn begin() -> anyhow::Result<Option<Traces>> {
    if env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_none() {
        return Ok(None);
    }
    let traces = Traces::begin("http-counter")?;
    tracing_subscriber::registry().with(traces.layer()).init();
    Ok(Some(traces))
}

/// Goes on with the trace of whoever sends the request, if that is part of one.
pub(crate) async fn traced(request: Request, next: Next) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let name = format!("{method} {path}");
    let span = tracing::info_span!("request", otel.name = name, otel.kind = "server");
    if let Some(outside) = outside(&request) {
        ostrakon_otel::continues(&span, outside);
    }
    next.run(request).instrument(span).await
}

fn outside(request: &Request) -> Option<TraceContext> {
    let header = request.headers().get("traceparent")?;
    header.to_str().ok()?.parse().ok()
}
