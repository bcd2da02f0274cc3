//! `ResumingStream`: a stream that goes on where it was when its entity ends in the middle.
//!
//! The producer knows nothing of it: it is asked again, for what comes after the last item that was read. Invariant: it never goes back, and when it
//! gets nowhere it ends with an error within its patience.

use std::{future::Future, pin::Pin, time::Duration};

use futures_core::Stream;
use tokio::time::Instant;

use super::EntityStream;
use crate::{AskError, Payload, StreamError};

/// How long it tries to go on, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A stream that is asked for again when it is interrupted: its entity has moved, stopped or failed, or its node was lost. Made by
/// [`EntityStream::resuming`].
pub struct ResumingStream<'a, T: Payload> {
    source: Box<dyn Source<'a, T> + 'a>,
    stream: Option<EntityStream<T>>,
    opened: Instant,
    trouble: Option<Trouble>,
    patience: Duration,
    over: bool,
}

/// It was interrupted, and nothing has come since.
struct Trouble {
    since: Instant,
    pause: Duration,
    last: StreamError,
}

/// Where the items come from.
trait Source<'a, T: Payload>: Send {
    fn open(&mut self) -> Opening<'a, T>;
    fn passed(&mut self, item: &T);
}

type Opening<'a, T> = Pin<Box<dyn Future<Output = Result<EntityStream<T>, AskError>> + Send + 'a>>;

struct Since<C, O, A> {
    cursor: C,
    open: O,
    advance: A,
}

impl<'a, T, C, O, F, A> Source<'a, T> for Since<C, O, A>
where
    T: Payload,
    C: Clone + Send,
    O: FnMut(C) -> F + Send,
    F: Future<Output = Result<EntityStream<T>, AskError>> + Send + 'a,
    A: FnMut(&mut C, &T) + Send,
{
    fn open(&mut self) -> Opening<'a, T> {
        Box::pin((self.open)(self.cursor.clone()))
    }

    fn passed(&mut self, item: &T) {
        (self.advance)(&mut self.cursor, item);
    }
}

impl<T: Payload> EntityStream<T> {
    /// A stream that goes on after its entity has moved, stopped or failed: `open` asks for what comes after a place, at first `from`, and `advance`
    /// moves the place past an item. Nothing is asked before the first item is wanted.
    ///
    /// No item is lost or repeated, provided that `open` gives the same items from a place on whenever it is asked. It ends when the producer has
    /// finished, with an error when asking makes no sense any more, and when nothing has come for its [patience](ResumingStream::patience).
    ///
    /// ```
    /// use futures_util::{Stream, stream};
    /// use ostrakon::{EntityStream, Node, entity};
    ///
    /// #[derive(Default)]
    /// struct Ledger;
    ///
    /// #[entity(kind = "ledger")]
    /// impl Ledger {
    ///     fn entries(&self, from: u64) -> impl Stream<Item = u64> + use<> {
    ///         stream::iter(from..5) // from a database, say
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let node = Node::builder("node-1").host::<Ledger>().start().await?;
    /// let ledger = node.entity::<Ledger>("main");
    /// let mut entries = EntityStream::resuming(0, |from| ledger.entries(from), |from, entry| *from = entry + 1);
    /// let mut read = Vec::new();
    /// while let Some(entry) = entries.next().await {
    ///     read.push(entry?);
    /// }
    /// assert_eq!(read, [0, 1, 2, 3, 4]);
    /// # Ok(()) }
    /// ```
    pub fn resuming<'a, C, F>(
        from: C,
        open: impl FnMut(C) -> F + Send + 'a,
        advance: impl FnMut(&mut C, &T) + Send + 'a,
    ) -> ResumingStream<'a, T>
    where
        C: Clone + Send + 'a,
        F: Future<Output = Result<Self, AskError>> + Send + 'a,
    {
        ResumingStream {
            source: Box::new(Since {
                cursor: from,
                open,
                advance,
            }),
            stream: None,
            opened: Instant::now(),
            trouble: None,
            patience: PATIENCE,
            over: false,
        }
    }
}

impl<'a, T: Payload> ResumingStream<'a, T> {
    /// How long to try to go on before it ends with an error; 30 s unless told otherwise.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The next item; `None` once the producer has finished, or after an error. Dropping the future loses no item.
    pub async fn next(&mut self) -> Option<Result<T, StreamError>> {
        while !self.over {
            let Some(stream) = &mut self.stream else {
                match self.open().await {
                    Ok(()) => continue,
                    Err(error) => return self.end(Some(error)),
                }
            };
            match stream.next().await {
                Some(Ok(item)) => {
                    self.source.passed(&item);
                    self.trouble = None;
                    return Some(Ok(item));
                }
                Some(Err(StreamError::Interrupted)) => self.interrupted(),
                Some(Err(error)) => return self.end(Some(error)),
                None => return self.end(None),
            }
        }
        None
    }

    /// The same as a `Stream`.
    pub fn into_stream(self) -> impl Stream<Item = Result<T, StreamError>> + Send + 'a {
        futures_util::stream::unfold(self, async |mut items| {
            let item = items.next().await?;
            Some((item, items))
        })
    }

    fn end(&mut self, error: Option<StreamError>) -> Option<Result<T, StreamError>> {
        self.over = true;
        self.stream = None;
        error.map(Err)
    }

    fn interrupted(&mut self) {
        self.stream = None;
        // Whatever was wrong before has been right for a while.
        if self.opened.elapsed() > LONGEST_PAUSE {
            self.trouble = None;
        }
        self.in_trouble(StreamError::Interrupted);
    }

    fn in_trouble(&mut self, last: StreamError) {
        match &mut self.trouble {
            Some(trouble) => {
                trouble.pause = (trouble.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
                trouble.last = last;
            }
            // A shard that moves has its new owner at once: the first time there is nothing to wait for.
            None => {
                self.trouble = Some(Trouble {
                    since: Instant::now(),
                    pause: Duration::ZERO,
                    last,
                });
            }
        }
    }

    /// Asks for what comes next, until there is somebody who has it.
    async fn open(&mut self) -> Result<(), StreamError> {
        loop {
            if let Some(trouble) = &self.trouble {
                if trouble.since.elapsed() > self.patience {
                    return Err(trouble.last.clone());
                }
                tokio::time::sleep(trouble.pause).await;
            }
            match self.source.open().await {
                Ok(stream) => {
                    self.stream = Some(stream);
                    self.opened = Instant::now();
                    return Ok(());
                }
                Err(error) if may_pass(&error) => self.in_trouble(StreamError::NotOpened(error)),
                Err(error) => return Err(StreamError::NotOpened(error)),
            }
        }
    }
}

/// Whether asking again may help. That a stream is opened twice does no harm: nobody reads the first one.
fn may_pass(error: &AskError) -> bool {
    match error {
        AskError::TimedOut | AskError::Interrupted | AskError::Lost { .. } => true,
        AskError::NotSent(_)
        | AskError::Rejected(_)
        | AskError::Cycle(_)
        | AskError::StartFailed(_)
        | AskError::Expired
        | AskError::Failed(_)
        | AskError::NoReply
        | AskError::BadReply(_) => error.is_retryable(),
    }
}
