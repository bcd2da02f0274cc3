//! Which spans messages make, in one process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{sync::LazyLock, time::Duration};

use opentelemetry::trace::{SpanId, SpanKind, Status, TraceId, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use ostrakon::{Node, TraceContext, entity};
use tracing::Instrument;
use tracing_subscriber::{
    Layer, filter::LevelFilter, layer::SubscriberExt, util::SubscriberInitExt,
};

/// All tests of this process share them; each looks at its own trace.
static SPANS: LazyLock<InMemorySpanExporter> = LazyLock::new(|| {
    let spans = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder();
    let provider = provider.with_simple_exporter(spans.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let layer = layer.with_filter(LevelFilter::INFO);
    tracing_subscriber::registry().with(layer).init();
    ostrakon_otel::bridge().unwrap();
    spans
});

fn trace(number: u128) -> TraceContext {
    TraceContext {
        trace_id: number,
        span_id: 7,
        flags: 1,
    }
}

/// The spans of a trace that have ended, in the order in which they began.
fn spans_of(trace: TraceContext) -> Vec<SpanData> {
    let id = TraceId::from_bytes(trace.trace_id.to_be_bytes());
    let mut spans = SPANS.get_finished_spans().unwrap();
    spans.retain(|span| span.span_context.trace_id() == id);
    spans.sort_by_key(|span| span.start_time);
    spans
}

/// Waits until a trace has so many spans: those of a tell end when nobody waits for them.
async fn so_many_spans_of(trace: TraceContext, count: usize) -> Vec<SpanData> {
    let there = async {
        while spans_of(trace).len() < count {
            tokio::task::yield_now().await;
        }
    };
    let there = tokio::time::timeout(Duration::from_secs(10), there).await;
    let spans = spans_of(trace);
    assert!(there.is_ok() && spans.len() == count, "{:?}", names(&spans));
    spans
}

fn names(spans: &[SpanData]) -> Vec<&str> {
    spans.iter().map(|span| &*span.name).collect()
}

#[derive(Default)]
struct Shop {
    visits: u64,
}

#[entity(kind = "shop")]
impl Shop {
    async fn visit(&mut self) -> u64 {
        self.visits += 1;
        self.visits
    }

    async fn sell(&mut self, ctx: &ostrakon::Context<Self>) -> u64 {
        let till = ctx.node().entity::<Till>("main");
        let paying = till.pay(3).instrument(tracing::info_span!("reckon"));
        paying.await.unwrap()
    }

    async fn burn(&mut self) {
        panic!("fire");
    }

    async fn place(&mut self) -> Option<String> {
        TraceContext::current().map(|context| context.to_string())
    }
}

#[derive(Default)]
struct Till {
    sum: u64,
}

#[entity(kind = "till")]
impl Till {
    async fn pay(&mut self, amount: u64) -> u64 {
        self.sum += amount;
        self.sum
    }
}

async fn node() -> Node {
    LazyLock::force(&SPANS);
    let node = Node::builder("node").host::<Shop>().host::<Till>();
    node.start().await.unwrap()
}

#[tokio::test]
async fn one_trace_goes_from_the_asker_to_the_entity_and_on() {
    let (node, trace) = (node().await, trace(1));
    let request = tracing::info_span!("request");
    ostrakon_otel::continues(&request, trace);
    let asking = async { node.entity::<Shop>("corner").sell().await };
    assert_eq!(asking.instrument(request).await.unwrap(), 3);

    let spans = so_many_spans_of(trace, 6).await;
    assert_eq!(
        names(&spans),
        [
            "request",
            "ask shop",
            "handle shop",
            "reckon",
            "ask till",
            "handle till"
        ]
    );
    let kinds: Vec<_> = spans.iter().map(|span| span.span_kind.clone()).collect();
    use SpanKind::{Client, Internal, Server};
    assert_eq!(kinds, [Internal, Client, Server, Internal, Client, Server]);
    assert_eq!(
        spans[0].parent_span_id,
        SpanId::from_bytes(7_u64.to_be_bytes())
    );
    for pair in spans.windows(2) {
        let [outer, inner] = pair else { unreachable!() };
        assert_eq!(inner.parent_span_id, outer.span_context.span_id());
        assert_eq!(inner.status, Status::Unset);
    }
    let says = |attribute: &str| {
        let attributes = spans[2].attributes.iter();
        let mut found = attributes.filter(|one| one.key.as_str() == attribute);
        found.next().map(|one| one.value.to_string())
    };
    assert_eq!(says("kind").as_deref(), Some("shop"));
    assert_eq!(says("id").as_deref(), Some("corner"));
}

#[tokio::test]
async fn a_tell_is_handled_as_part_of_the_trace_of_whoever_told() {
    let (node, trace) = (node().await, trace(2));
    let shop = node.entity::<Shop>("told");
    trace
        .scope(async { shop.tell().visit().await })
        .await
        .unwrap();
    let spans = so_many_spans_of(trace, 1).await;
    assert_eq!(names(&spans), ["handle shop"]);
    assert_eq!(spans[0].span_kind, SpanKind::Consumer);
    assert_eq!(
        spans[0].parent_span_id,
        SpanId::from_bytes(7_u64.to_be_bytes())
    );
}

#[tokio::test]
async fn failures_are_seen_on_both_sides() {
    let (node, trace) = (node().await, trace(3));
    let shop = node.entity::<Shop>("burnt");
    trace.scope(async { shop.burn().await }).await.unwrap_err();
    let spans = so_many_spans_of(trace, 2).await;
    assert_eq!(names(&spans), ["ask shop", "handle shop"]);
    for span in &spans {
        let Status::Error { description } = &span.status else {
            panic!("{} has not failed: {:?}", span.name, span.status);
        };
        assert!(description.contains("fire"), "{description}");
    }
}

#[tokio::test]
async fn code_of_an_entity_stands_in_the_span_of_its_message() {
    let (node, trace) = (node().await, trace(4));
    let shop = node.entity::<Shop>("here");
    let place = trace.scope(async { shop.place().await }).await.unwrap();
    let spans = so_many_spans_of(trace, 2).await;
    let handle = &spans[1].span_context;
    let (trace_id, span_id) = (handle.trace_id(), handle.span_id());
    assert_eq!(place, Some(format!("00-{trace_id}-{span_id}-01")));
}

#[tokio::test]
async fn what_is_not_recorded_makes_no_spans() {
    let node = node().await;
    let silent = TraceContext {
        flags: 0,
        ..trace(5)
    };
    let shop = node.entity::<Shop>("quiet");
    silent.scope(async { shop.visit().await }).await.unwrap();
    shop.visit().await.unwrap();
    let last = trace(6);
    last.scope(async { shop.visit().await }).await.unwrap();
    so_many_spans_of(last, 2).await;
    assert_eq!(names(&spans_of(silent)), [""; 0]);
    let of_quiet = SPANS.get_finished_spans().unwrap();
    let of_quiet = of_quiet.iter().filter(|span| {
        let mut attributes = span.attributes.iter();
        attributes.any(|one| one.value.as_str() == "quiet")
    });
    assert_eq!(of_quiet.count(), 2);
}
