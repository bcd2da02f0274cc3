//! `Runtime`: where the entities of one kind run, and until when they may.

use std::{
    ops::Deref,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tokio::runtime::Handle;

use crate::{
    chain,
    lease::{Lease, Wait, Who},
};

pub(crate) struct Runtime {
    handle: Handle,
    pub(crate) lease: Arc<Lease>,
}

impl Runtime {
    /// The present one.
    pub(crate) fn current(lease: Arc<Lease>) -> Self {
        Self {
            handle: Handle::current(),
            lease,
        }
    }

    /// Work of the entity that runs here, which waits while the lease is over.
    pub(crate) fn leased<F: Future<Output = ()>>(&self, work: F) -> Leased<F> {
        Leased {
            lease: Arc::clone(&self.lease),
            who: Who::Work(chain::current().chain),
            wait: Wait::default(),
            work,
        }
    }
}

impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

pin_project! {
    /// Work that an entity does beside its messages.
    pub(crate) struct Leased<F> {
        lease: Arc<Lease>,
        who: Who,
        wait: Wait,
        #[pin]
        work: F,
    }
}

impl<F: Future<Output = ()>> Future for Leased<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let leased = self.project();
        loop {
            if let Some(acting) = leased.lease.acts(|| leased.who.clone()) {
                let done = leased.work.poll(cx);
                drop(acting);
                return done;
            }
            ready!(leased.lease.poll_lasts(leased.wait, cx.waker()));
        }
    }
}
