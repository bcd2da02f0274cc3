//! `Contact`: the connection to one of those who may decide, kept for as long as it is wanted.

use std::{io, sync::Arc, time::Duration};

use ostrakon_control::{
    Conversation, Dialed, FromManager, FromNode, GreetingError, Hello, dial_role,
};
use ostrakon_tls::{Role, Security};
use tokio::{sync::mpsc, time::Instant};

use super::{Event, decider::Decider};

/// How long a manager may take to let the node in.
const GREETING: Duration = Duration::from_secs(3);
/// How long a manager may be silent. It makes itself heard much more often.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait before dialing again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// `host:port`; looked up anew for every attempt.
pub(crate) type Address = Arc<str>;

pub(crate) struct Contact {
    pub(crate) address: Address,
    /// What the certificate of whoever answers has to say.
    pub(crate) role: Role,
    pub(crate) security: Security,
    pub(crate) hello: Hello,
    pub(crate) events: mpsc::Sender<Event>,
}

impl Contact {
    /// Ends when nobody wants to hear of it any more.
    pub(crate) async fn keep(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let trouble = match self.talk().await {
                Talk::Over => return,
                Talk::Ended { why, after } => {
                    // One that ends at once, again and again, is not dialed without pause.
                    if after > LONGEST_PAUSE {
                        pause = FIRST_PAUSE;
                    }
                    why
                }
                Talk::NotBegun(error) => error.to_string(),
            };
            tracing::warn!(manager = %self.address, %trouble, "no contact with a manager");
            let contact = Arc::clone(&self.address);
            let lost = Event::Lost { contact, trouble };
            if self.events.send(lost).await.is_err() {
                return;
            }
            // A random part keeps nodes from trying in step.
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn talk(&self) -> Talk {
        let dialed = match self.dial().await {
            Ok(dialed) => dialed,
            Err(error) => return Talk::NotBegun(error),
        };
        let began = Instant::now();
        tracing::info!(manager = dialed.name, address = %self.address, "in contact with a manager");
        let (conversation, mouth) = Conversation::<FromNode>::new(dialed.wire);
        let version = dialed.version;
        let contact = Arc::clone(&self.address);
        let met = Event::Met {
            contact: Arc::clone(&contact),
            decider: Decider { mouth, version },
        };
        if self.events.send(met).await.is_err() {
            return Talk::Over;
        }
        let heard = |words: FromManager| {
            let contact = Arc::clone(&contact);
            Ok(Event::Heard { contact, words })
        };
        let ended = conversation.run(PATIENCE, &self.events, heard).await;
        match self.events.is_closed() {
            true => Talk::Over,
            false => Talk::Ended {
                why: ended.to_string(),
                after: began.elapsed(),
            },
        }
    }

    /// Dials each of the manager's addresses until one answers.
    async fn dial(&self) -> Result<Dialed, GreetingError> {
        let looking = tokio::net::lookup_host(&*self.address);
        let found = tokio::time::timeout(GREETING, looking).await;
        let found = found.map_err(|_| GreetingError::Late(GREETING))??;
        let reason = format!("`{}` has no address", self.address);
        let mut failed = io::Error::new(io::ErrorKind::NotFound, reason).into();
        for address in found {
            match dial_role(self.role, address, &self.security, &self.hello, GREETING).await {
                Ok(dialed) => return Ok(dialed),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

/// What came of an attempt to talk.
enum Talk {
    /// The node is gone.
    Over,
    NotBegun(GreetingError),
    Ended {
        why: String,
        after: Duration,
    },
}
