//! `Collector`: takes in spans as any collector of OpenTelemetry does, and remembers them.

use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{KeyValue, any_value::Value},
};
use tokio::net::TcpListener;
use tonic::{
    Request, Response, Status,
    transport::{Server, server::TcpIncoming},
};

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    spans: Arc<Mutex<Vec<Seen>>>,
}

/// What is of interest of a span.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) process: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let spans = Arc::default();
        let taking = TraceServiceServer::new(Taking(Arc::clone(&spans)));
        let serving = Server::builder().add_service(taking);
        tokio::spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));
        Self {
            endpoint: format!("http://{address}"),
            spans,
        }
    }

    /// The spans of a trace, in the order in which they began.
    pub(crate) fn spans_of(&self, trace: &str) -> Vec<Seen> {
        let mut spans = self.spans.lock().expect("nobody panics with it").clone();
        spans.retain(|span| span.trace == trace);
        spans.sort_by_key(|span| span.began);
        spans
    }
}

struct Taking(Arc<Mutex<Vec<Seen>>>);

#[tonic::async_trait]
impl TraceService for Taking {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut seen = self.0.lock().expect("nobody panics with it");
        for of_process in request.into_inner().resource_spans {
            let about = of_process.resource.unwrap_or_default().attributes;
            let process = instance(&about);
            let scopes = of_process.scope_spans.into_iter();
            for span in scopes.flat_map(|scope| scope.spans) {
                seen.push(Seen {
                    process: process.clone(),
                    trace: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    name: span.name,
                    began: span.start_time_unix_nano,
                    ended: span.end_time_unix_nano,
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn instance(attributes: &[KeyValue]) -> String {
    let mut attributes = attributes.iter();
    let named = attributes.find(|one| one.key == "service.instance.id");
    match named.and_then(|one| one.value.clone()?.value) {
        Some(Value::StringValue(name)) => name,
        other => panic!("no name but {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
