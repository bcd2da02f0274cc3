//! Traces for OpenTelemetry: one trace from whoever asks to the entity, on whatever node it is, and back.
//!
//! ```no_run
//! use ostrakon_otel::Traces;
//! use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // To the collector at OTEL_EXPORTER_OTLP_ENDPOINT, or at http://localhost:4317.
//! let traces = Traces::begin("bank")?;
//! tracing_subscriber::registry().with(traces.layer()).init();
//! // … run nodes; ask entities within spans of `tracing` …
//! traces.end().await?;
//! # Ok(()) }
//! ```
//!
//! A trace begins with a span of your own, say that of an HTTP request. Every ask within it becomes a span (`ask account`), and so does what the
//! entity does for it (`handle account`); what the entity asks of others meanwhile is part of the same trace. Messages that are sent outside of any span
//! are part of no trace and cost nothing. Which traces are recorded is for the sampler to say (`OTEL_TRACES_SAMPLER`).
//!
//! Who has set up OpenTelemetry already needs [`bridge`] alone.

mod bridge;
mod traces;

pub use bridge::{bridge, continues};
pub use traces::{TraceError, Traces};
