//! `Conversation`: frames in both directions, until it ends.
//!
//! Two tasks: one writes what is said through a [`Mouth`], the other reads. Nothing waits for the other side without end: a side that
//! does not read in time, lets too much wait for it, or says nothing for too long, is given up, and one that says too much is read more
//! slowly. What was said but not heard is lost with the connection, which is fine: whoever connects again says where it stands, and
//! everything that matters is said again. Invariant: nothing that was said is left out while the connection lives.

use std::{sync::Arc, time::Duration};

use ostrakon_tls::Wire;
use serde::Serialize;
use thiserror::Error;
use tokio::{
    io::{ReadHalf, WriteHalf},
    sync::{Notify, mpsc},
};

use crate::{
    frame::{self, FrameError, Framed},
    message::Words,
    pace::Pace,
};

/// How many frames may wait to be written.
const WAITING: usize = 1024;

/// A way to say something. Cheap to clone.
pub struct Mouth<Out> {
    said: mpsc::Sender<Said<Out>>,
    /// Told when more was said than may wait.
    overrun: Arc<Notify>,
}

enum Said<Out> {
    Words(Out),
    Framed(Framed<Out>),
}

impl<Out> Clone for Mouth<Out> {
    fn clone(&self) -> Self {
        Self {
            said: self.said.clone(),
            overrun: Arc::clone(&self.overrun),
        }
    }
}

impl<Out> Mouth<Out> {
    /// Says something, if the conversation goes on. A side that does not listen is given up.
    pub fn say(&self, words: Out) {
        self.put(Said::Words(words));
    }

    /// Says what others hear as well.
    pub fn say_framed(&self, frame: &Framed<Out>) {
        self.put(Said::Framed(frame.clone()));
    }

    fn put(&self, said: Said<Out>) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.said.try_send(said) {
            // With a gap the rest would be misunderstood: better to begin again.
            self.overrun.notify_one();
        }
    }

    /// How much has been said and not been written yet.
    pub fn waiting(&self) -> usize {
        self.said.max_capacity() - self.said.capacity()
    }
}

/// Why a conversation is over.
#[derive(Debug, Error)]
pub enum Ended {
    /// Something was wrong with what was heard, or the connection broke.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Nothing was heard for so long.
    #[error("nothing was heard for {0:?}")]
    Silence(Duration),
    /// A frame could not be written in that time.
    #[error("it did not take a frame within {0:?}")]
    Stuck(Duration),
    /// It does not take what it is told as fast as that is said.
    #[error("it lets {0} frames wait")]
    Overrun(usize),
    /// It said what it must not say.
    #[error("it must not say that: {0}")]
    OutOfTurn(String),
    /// This side wanted it to end.
    #[error("closed")]
    Closed,
}

/// A conversation that has begun.
pub struct Conversation<Out> {
    wire: Box<dyn Wire>,
    outgoing: mpsc::Receiver<Said<Out>>,
    overrun: Arc<Notify>,
}

impl<Out: Serialize + Send + Sync + 'static> Conversation<Out> {
    /// A conversation over a connection on which the greeting is over.
    pub fn new(wire: Box<dyn Wire>) -> (Self, Mouth<Out>) {
        let (said, outgoing) = mpsc::channel(WAITING);
        let overrun = Arc::new(Notify::new());
        let mouth = Mouth {
            said,
            overrun: Arc::clone(&overrun),
        };
        let conversation = Self {
            wire,
            outgoing,
            overrun,
        };
        (conversation, mouth)
    }

    /// Goes on until it ends; what is heard goes to `ears` as `event` makes it, unless it says why that must not be said. It ends as well
    /// when all mouths or the ears are gone.
    pub async fn run<In: Words, Event>(
        self,
        patience: Duration,
        ears: &mpsc::Sender<Event>,
        event: impl Fn(In) -> Result<Event, String>,
    ) -> Ended {
        let (reader, writer) = tokio::io::split(self.wire);
        tokio::select! {
            ended = write(writer, self.outgoing, patience) => ended,
            ended = read(reader, patience, ears, event) => ended,
            () = self.overrun.notified() => Ended::Overrun(WAITING),
        }
    }
}

async fn write<Out: Serialize>(
    mut wire: WriteHalf<Box<dyn Wire>>,
    mut outgoing: mpsc::Receiver<Said<Out>>,
    patience: Duration,
) -> Ended {
    while let Some(said) = outgoing.recv().await {
        let frame = match said {
            Said::Framed(frame) => frame,
            Said::Words(words) => match Framed::new(&words) {
                Ok(frame) => frame,
                Err(error) => return error.into(),
            },
        };
        let written = frame::write_framed(&mut wire, &frame);
        match tokio::time::timeout(patience, written).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error.into(),
            Err(_) => return Ended::Stuck(patience),
        }
    }
    Ended::Closed
}

async fn read<In: Words, Event>(
    mut wire: ReadHalf<Box<dyn Wire>>,
    patience: Duration,
    ears: &mpsc::Sender<Event>,
    event: impl Fn(In) -> Result<Event, String>,
) -> Ended {
    let mut pace = In::PER_SECOND.map(Pace::new);
    loop {
        let read = frame::read_bytes(&mut wire, In::MOST);
        let bytes = match tokio::time::timeout(patience, read).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) => return error.into(),
            Err(_) => return Ended::Silence(patience),
        };
        let words = match frame::decode(&bytes) {
            Ok(words) => words,
            Err(error) => return error.into(),
        };
        let event = match event(words) {
            Ok(event) => event,
            Err(reason) => return Ended::OutOfTurn(reason),
        };
        if ears.send(event).await.is_err() {
            return Ended::Closed;
        }
        if let Some(pace) = &mut pace {
            pace.pay(bytes.len()).await;
        }
    }
}
