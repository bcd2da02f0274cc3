//! `Conversation`: frames in both directions, until it ends.
//!
//! Two tasks: one writes what is said through a [`Mouth`], the other reads. Nothing waits for the other side without end: a side that
//! does not read in time, or says nothing for too long, is given up. What was said but not heard is lost with the connection, which
//! is fine: everything that matters is said again.

use std::time::Duration;

use ostrakon_tls::Wire;
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::frame::{self, FrameError, MOST};

/// How many frames may wait to be written.
const WAITING: usize = 1024;

/// A way to say something. Cheap to clone.
pub struct Mouth<Out>(mpsc::Sender<Out>);

impl<Out> Clone for Mouth<Out> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Out> Mouth<Out> {
    /// Says something, if the conversation goes on. A side that does not listen is given up.
    pub fn say(&self, words: Out) {
        // Full: what is lost now is said again, or the silence ends the conversation.
        let _ = self.0.try_send(words);
    }

    /// Whether this is the same conversation.
    pub fn is(&self, other: &Self) -> bool {
        self.0.same_channel(&other.0)
    }

    /// How much may be said before anything is lost.
    pub fn room(&self) -> usize {
        self.0.capacity()
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
    /// This side wanted it to end.
    #[error("closed")]
    Closed,
}

/// A conversation that has begun.
pub struct Conversation<Out> {
    wire: Box<dyn Wire>,
    outgoing: mpsc::Receiver<Out>,
}

impl<Out: Serialize + Send + Sync + 'static> Conversation<Out> {
    /// A conversation over a connection on which the greeting is over.
    pub fn new(wire: Box<dyn Wire>) -> (Self, Mouth<Out>) {
        let (mouth, outgoing) = mpsc::channel(WAITING);
        (Self { wire, outgoing }, Mouth(mouth))
    }

    /// Goes on until it ends; what is heard goes to `ears` as `event` makes it. It ends as well when all mouths or the ears are gone.
    pub async fn run<In: DeserializeOwned, Event>(
        self,
        patience: Duration,
        ears: &mpsc::Sender<Event>,
        event: impl Fn(In) -> Event,
    ) -> Ended {
        let Self { wire, mut outgoing } = self;
        let (mut reader, mut writer) = tokio::io::split(wire);
        let writing = async {
            while let Some(words) = outgoing.recv().await {
                let written = tokio::time::timeout(patience, frame::write(&mut writer, &words));
                match written.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return Ended::Frame(error),
                    Err(_) => return Ended::Stuck(patience),
                }
            }
            Ended::Closed
        };
        let reading = async {
            loop {
                let read = tokio::time::timeout(patience, frame::read(&mut reader, MOST));
                match read.await {
                    Ok(Ok(words)) => {
                        if ears.send(event(words)).await.is_err() {
                            return Ended::Closed;
                        }
                    }
                    Ok(Err(error)) => return Ended::Frame(error),
                    Err(_) => return Ended::Silence(patience),
                }
            }
        };
        tokio::select! {
            ended = writing => ended,
            ended = reading => ended,
        }
    }
}
