//! Spans: what whoever collects traces is told about messages.
//!
//! A message that is part of a recorded trace gets one span where it is asked and one where it is handled, also on another node; messages that
//! are part of none cost nothing. Nothing here knows OpenTelemetry: a [`SpanBridge`] says where a span of `tracing` stands in its trace, and the crate
//! `ostrakon-otel` has one. Invariant: a span says who was asked and what came of it, never what the message says.

use std::{fmt::Display, sync::OnceLock};

use ostrakon_core::EntityId;
use thiserror::Error;
use tracing::{Span, field::Empty, level_filters::LevelFilter};

use crate::{AskError, TraceContext, chain, host::gate::Serves};

/// Knows where spans of `tracing` stand in their traces.
pub trait SpanBridge: Send + Sync {
    /// Where this span stands; `None` if it is not recorded.
    fn context(&self, span: &Span) -> Option<TraceContext>;

    /// Makes this span, which has just begun, part of a trace that began elsewhere.
    fn continues(&self, span: &Span, parent: TraceContext);
}

/// There is a bridge already, and only one can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("spans are bridged already: do it once, where the program begins")]
pub struct AlreadyBridged;

static BRIDGE: OnceLock<Box<dyn SpanBridge>> = OnceLock::new();

/// From now on the messages of this process are part of the traces that this bridge knows.
pub fn bridge_spans(bridge: impl SpanBridge + 'static) -> Result<(), AlreadyBridged> {
    BRIDGE.set(Box::new(bridge)).map_err(|_| AlreadyBridged)
}

/// Where the running code stands in its trace, by its innermost span.
pub(crate) fn here() -> Option<TraceContext> {
    BRIDGE.get()?.context(&Span::current())
}

/// The span of an ask, if whoever asks is part of a recorded trace.
pub(crate) fn asking(kind: &'static str, id: &EntityId) -> Option<Box<Span>> {
    let bridge = BRIDGE.get()?;
    let handed_on = match bridge.context(&Span::current()) {
        Some(_) => None,
        None => Some(chain::handed_on().filter(|trace| trace.is_recorded())?),
    };
    let span = tracing::info_span!(
        "ask",
        otel.name = format!("ask {kind}"),
        otel.kind = "client",
        otel.status_code = Empty,
        otel.status_description = Empty,
        kind,
        %id,
    );
    if let Some(parent) = handed_on {
        bridge.continues(&span, *parent);
    }
    Some(Box::new(span))
}

/// The span of a message that is being handled.
pub(crate) fn handling(kind: &'static str, id: &EntityId, serves: Serves<'_>) -> Span {
    let recorded = serves.trace.filter(|trace| trace.is_recorded());
    let Some((parent, bridge)) = recorded.zip(BRIDGE.get()) else {
        // With the feature `log` even a span that nobody wants costs more than a short handler.
        if LevelFilter::current() < LevelFilter::TRACE {
            return Span::none();
        }
        let trace = serves.trace.map(tracing::field::display);
        return tracing::trace_span!("handle", kind, %id, trace);
    };
    let span = recorded_handling(kind, id, serves);
    bridge.continues(&span, **parent);
    span
}

#[inline(never)]
fn recorded_handling(kind: &'static str, id: &EntityId, serves: Serves<'_>) -> Span {
    tracing::info_span!(
        parent: None,
        "handle",
        otel.name = format!("handle {kind}"),
        otel.kind = if serves.ask.is_some() { "server" } else { "consumer" },
        otel.status_code = Empty,
        otel.status_description = Empty,
        kind,
        %id,
    )
}

/// An ask has its outcome.
pub(crate) fn answered(span: &Span, error: Option<&AskError>) {
    // Some take the last time that code of a span ran for its end.
    span.in_scope(|| {
        if let Some(error) = error {
            failed(span, error);
        }
    });
}

/// What the span is about has failed.
pub(crate) fn failed(span: &Span, why: &dyn Display) {
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", tracing::field::display(why));
}
