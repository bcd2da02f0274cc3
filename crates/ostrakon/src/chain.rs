//! The chain of asks that the running code is part of, so that a cycle is an error and not a deadlock.
//!
//! While an entity handles a message, a thread-local names it; an ask made meanwhile carries "who waits for this" along.
//! Tells carry nothing, for nobody waits for them.

use std::{borrow::Cow, cell::RefCell, fmt, sync::Arc};

use ostrakon_core::{EntityId, EntityKind, Time};

use crate::{
    TraceContext,
    link::frame::{Fields, put_section},
    spans, trace,
};

/// Entities that wait for each other, the outermost first: `account/alice → audit/main → account/alice`.
#[derive(Clone, PartialEq, Eq)]
pub struct CallChain(Arc<Link>);

#[derive(PartialEq, Eq)]
struct Link {
    kind: Cow<'static, str>,
    id: EntityId,
    parent: Option<CallChain>,
    depth: usize,
}

impl CallChain {
    /// How many entities the chain names.
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// The kind of the entity it ends at.
    pub(crate) fn kind(&self) -> &str {
        &self.0.kind
    }

    pub(crate) fn contains(&self, kind: &str, id: &EntityId) -> bool {
        let mut link = Some(self);
        while let Some(chain) = link {
            if chain.0.kind == kind && chain.0.id == *id {
                return true;
            }
            link = chain.0.parent.as_ref();
        }
        false
    }

    pub(crate) fn then(
        parent: Option<Self>,
        kind: impl Into<Cow<'static, str>>,
        id: EntityId,
    ) -> Self {
        let depth = parent.as_ref().map_or(0, Self::depth) + 1;
        Self(Arc::new(Link {
            kind: kind.into(),
            id,
            parent,
            depth,
        }))
    }
}

/// Chains are compared, printed and refused beyond this depth: nobody means to ask that deep.
const DEEPEST: usize = 64;

impl CallChain {
    /// The chain as it travels: the outermost first.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if let Some(parent) = &self.0.parent {
            parent.write(out);
        }
        put_section(out, self.0.kind.as_bytes());
        put_section(out, self.0.id.as_str().as_bytes());
    }

    /// A chain from another node; `None` if it is no chain.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let mut chain = None;
        for _ in 0..DEEPEST {
            if fields.0.is_empty() {
                return chain;
            }
            let kind = fields.text(EntityKind::MAX_LEN).ok()?;
            let id = fields.text(EntityId::MAX_LEN).ok()?;
            let id = EntityId::new(id).ok()?;
            chain = Some(Self::then(chain, kind.to_owned(), id));
        }
        None
    }
}

impl fmt::Display for CallChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = &self.0.parent {
            write!(f, "{parent} → ")?;
        }
        write!(f, "{}/{}", self.0.kind, self.0.id)
    }
}

impl fmt::Debug for CallChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallChain({self})")
    }
}

/// The entity whose code is running, and what its present message is part of.
pub(crate) struct CallSite {
    pub(crate) kind: &'static str,
    pub(crate) id: EntityId,
    pub(crate) parent: Option<CallChain>,
    /// When the present message's asker gives up.
    pub(crate) deadline: Option<Time>,
    pub(crate) trace: Option<Arc<TraceContext>>,
}

/// What an ask made right here inherits.
pub(crate) struct Inherited {
    pub(crate) chain: Option<CallChain>,
    pub(crate) deadline: Option<Time>,
    pub(crate) trace: Option<Arc<TraceContext>>,
}

thread_local! {
    /// The innermost is the last: an ask that is answered on the spot runs inside its asker's poll.
    static RUNNING: RefCell<Vec<CallSite>> = const { RefCell::new(Vec::new()) };
}

/// Runs `poll`, which must not unwind, as code of the entity at `site`.
pub(crate) fn within<R>(site: impl FnOnce() -> CallSite, poll: impl FnOnce() -> R) -> R {
    RUNNING.with_borrow_mut(|running| running.push(site()));
    let result = poll();
    RUNNING.with_borrow_mut(|running| running.truncate(running.len() - 1));
    result
}

/// What an ask made right here is part of: outside entities at most a trace.
pub(crate) fn current() -> Inherited {
    RUNNING.with_borrow(|running| match running.last() {
        None => Inherited {
            chain: None,
            deadline: None,
            trace: bridged().or_else(trace::outside_entities),
        },
        Some(site) => Inherited {
            chain: Some(CallChain::then(
                site.parent.clone(),
                site.kind,
                site.id.clone(),
            )),
            deadline: site.deadline,
            trace: bridged().or_else(|| site.trace.clone()),
        },
    })
}

/// What a tell made right here inherits.
pub(crate) fn current_trace() -> Option<Arc<TraceContext>> {
    bridged().or_else(handed_on)
}

fn bridged() -> Option<Arc<TraceContext>> {
    spans::here().map(Arc::new)
}

/// The trace that the running code was given, whatever spans it has begun since.
pub(crate) fn handed_on() -> Option<Arc<TraceContext>> {
    RUNNING.with_borrow(|running| match running.last() {
        None => trace::outside_entities(),
        Some(site) => site.trace.clone(),
    })
}
