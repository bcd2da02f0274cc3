//! `Traces`: where the spans of a process go.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::{Resource, error::OTelSdkError, trace::SdkTracerProvider};
use ostrakon::AlreadyBridged;
use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter::LevelFilter, registry::LookupSpan};

use crate::bridge;

/// Sends the spans of this process to a collector, in batches and by a thread of its own: nobody waits for the collector, and when it cannot be
/// reached, spans are dropped.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    service: String,
}

/// Why spans cannot be sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The settings in the environment cannot be used.
    #[error(
        "cannot send traces: check OTEL_EXPORTER_OTLP_ENDPOINT, a collector's address for OTLP over gRPC as in http://localhost:4317"
    )]
    Settings(#[from] ExporterBuildError),
    /// Somebody has begun already.
    #[error("traces have begun already: begin once, where the program does")]
    Twice(#[from] AlreadyBridged),
    /// What was left could not be sent.
    #[error("the last spans could not be sent: is the collector there?")]
    End(#[from] OTelSdkError),
}

impl Traces {
    /// Sends spans as this service, by OTLP over gRPC to the collector that the environment names (`OTEL_EXPORTER_OTLP_ENDPOINT`), else to
    /// `http://localhost:4317`. To be called in a tokio runtime, once.
    pub fn begin(service: &str) -> Result<Self, TraceError> {
        let exporter = SpanExporter::builder().with_tonic().build()?;
        bridge()?;
        let resource = Resource::builder().with_service_name(service.to_owned());
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        let service = service.to_owned();
        Ok(Self { provider, service })
    }

    /// To be added to the subscriber. Spans of the level `info` and above become part of traces.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.provider.tracer(self.service.clone());
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_filter(LevelFilter::INFO)
    }

    /// Sends what is left.
    pub async fn end(self) -> Result<(), TraceError> {
        // It waits for its thread, and that one for the collector, which this runtime may have to talk to.
        let ending = tokio::task::spawn_blocking(move || self.provider.shutdown());
        Ok(ending.await.unwrap_or(Ok(()))?)
    }
}
