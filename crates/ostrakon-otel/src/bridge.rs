//! The bridge between the spans of `tracing` and the messages of Ostrakon.

use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use ostrakon::{AlreadyBridged, SpanBridge, TraceContext};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Makes messages part of the traces of this process, if its subscriber has a layer of `tracing-opentelemetry`.
///
/// [`Traces::begin`](crate::Traces::begin) does it, too.
pub fn bridge() -> Result<(), AlreadyBridged> {
    ostrakon::bridge_spans(Bridge)
}

/// Makes a span that has just begun part of a trace that began elsewhere: say that of an HTTP request with the header `traceparent`, which can be
/// parsed as a [`TraceContext`].
pub fn continues(span: &Span, parent: TraceContext) {
    let place = SpanContext::new(
        TraceId::from_bytes(parent.trace_id.to_be_bytes()),
        SpanId::from_bytes(parent.span_id.to_be_bytes()),
        TraceFlags::new(parent.flags),
        true,
        TraceState::NONE,
    );
    // Whoever has filtered the span out does not want to see it.
    let _ = span.set_parent(Context::new().with_remote_span_context(place));
}

struct Bridge;

impl SpanBridge for Bridge {
    fn context(&self, span: &Span) -> Option<TraceContext> {
        // Whoever is in no span has no context, and is not worth the way through the subscriber.
        span.id()?;
        let context = span.context();
        let place = context.span().span_context().clone();
        place.is_sampled().then(|| TraceContext {
            trace_id: u128::from_be_bytes(place.trace_id().to_bytes()),
            span_id: u64::from_be_bytes(place.span_id().to_bytes()),
            flags: place.trace_flags().to_u8(),
        })
    }

    fn continues(&self, span: &Span, parent: TraceContext) {
        continues(span, parent);
    }
}
