//! `TraceContext`: which trace a message belongs to, carried along wherever messages go.
//!
//! It is the W3C's triple of trace, span and flags. Ostrakon does not decide what is traced: it hands on what it was given, so that the spans
//! of several nodes can be put together by whatever collects them.

use std::{fmt, str::FromStr, sync::Arc};

use thiserror::Error;

use crate::chain;

/// Which trace the running code is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The whole trace; never 0.
    pub trace_id: u128,
    /// The span that sends; never 0.
    pub span_id: u64,
    /// The lowest bit says that the trace is recorded.
    pub flags: u8,
}

/// Of the flags.
const RECORDED: u8 = 1;

tokio::task_local! {
    static OUTSIDE: Arc<TraceContext>;
}

/// The trace of the innermost scope.
pub(crate) fn outside_entities() -> Option<Arc<TraceContext>> {
    OUTSIDE.try_with(Arc::clone).ok()
}

impl TraceContext {
    /// The context of the running code: that of the innermost recorded span, if [spans are bridged](crate::bridge_spans); else in an entity that of
    /// the present message, and elsewhere that of the innermost [`TraceContext::scope`].
    pub fn current() -> Option<Self> {
        chain::current_trace().as_deref().copied()
    }

    /// Whether whoever began the trace has it recorded.
    pub fn is_recorded(&self) -> bool {
        self.flags & RECORDED != 0
    }

    /// Runs `work` as part of this trace: the messages it sends carry it.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        OUTSIDE.scope(Arc::new(self), work).await
    }

    pub(crate) fn to_bytes(self) -> [u8; 25] {
        let mut bytes = [0; 25];
        bytes[..16].copy_from_slice(&self.trace_id.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.span_id.to_be_bytes());
        bytes[24] = self.flags;
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace_id, rest) = bytes.split_first_chunk()?;
        let (span_id, rest) = rest.split_first_chunk()?;
        let [flags] = rest else {
            return None;
        };
        Some(Self {
            trace_id: u128::from_be_bytes(*trace_id),
            span_id: u64::from_be_bytes(*span_id),
            flags: *flags,
        })
    }
}

/// As in the `traceparent` header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// The text is no `traceparent` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a trace context looks like 00-<32 hex digits>-<16 hex digits>-<2 hex digits>")]
pub struct InvalidTraceContext;

impl FromStr for TraceContext {
    type Err = InvalidTraceContext;

    fn from_str(text: &str) -> Result<Self, InvalidTraceContext> {
        let mut parts = text.split('-');
        let mut part = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length)?;
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            part.chars().all(is_hex).then_some(part)
        };
        let parsed = (|| {
            let version = part(2)?;
            let context = Self {
                trace_id: u128::from_str_radix(part(32)?, 16).ok()?,
                span_id: u64::from_str_radix(part(16)?, 16).ok()?,
                flags: u8::from_str_radix(part(2)?, 16).ok()?,
            };
            let is_valid = version != "ff" && context.trace_id != 0 && context.span_id != 0;
            is_valid.then_some(context)
        })();
        // Version 00 ends here; a later one may go on.
        let over = text.starts_with("00-") && parts.next().is_some();
        parsed.filter(|_| !over).ok_or(InvalidTraceContext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_comes_back_as_it_was() {
        let context: TraceContext = HEADER.parse().unwrap();
        assert_eq!(context.to_string(), HEADER);
        assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let zero = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for text in [
            "",
            "00",
            "hello",
            &zero,
            &HEADER.to_uppercase(),
            &format!("{HEADER}-x"),
        ] {
            assert_eq!(
                text.parse::<TraceContext>(),
                Err(InvalidTraceContext),
                "{text}"
            );
        }
        assert_eq!(TraceContext::from_bytes(&[0; 24]), None);
        assert_eq!(TraceContext::from_bytes(&[0; 26]), None);
    }

    #[tokio::test]
    async fn a_scope_ends_with_its_work() {
        let context: TraceContext = HEADER.parse().unwrap();
        let inside = context.scope(async { TraceContext::current() }).await;
        assert_eq!(inside, Some(context));
        assert_eq!(TraceContext::current(), None);
    }
}
