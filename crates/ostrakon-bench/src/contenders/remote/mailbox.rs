//! Entities as tasks behind mailboxes of 16, as an actor system has them.
//!
//! Shared by the contenders that only differ in what carries the messages.

use std::collections::HashMap;

use anyhow::{Context, Result};
use tokio::sync::mpsc;

use super::{Address, Body};
use crate::contenders::Counter;

const BOUND: usize = 16;

/// The mailboxes by entity id.
pub(super) struct Mailboxes(HashMap<String, mpsc::Sender<Mail>>);

/// A message for an entity.
pub(super) struct Mail {
    pub(super) body: Body,
    /// Where the answer goes, where one is wanted.
    pub(super) reply: Option<(u64, mpsc::Sender<Answer>)>,
}

/// The answer to the request of that number.
pub(super) struct Answer {
    pub(super) seq: u64,
    pub(super) body: Body,
}

impl Mailboxes {
    pub(super) fn open() -> Self {
        let entities = Address::all().map(|address| {
            let (mailbox, mails) = mpsc::channel(BOUND);
            tokio::spawn(run(mails));
            (address.id, mailbox)
        });
        Self(entities.collect())
    }

    pub(super) async fn deliver(&self, id: &str, mail: Mail) -> Result<()> {
        let mailbox = self.0.get(id).context("no such entity")?;
        mailbox.send(mail).await.ok().context("entity is gone")
    }
}

async fn run(mut mails: mpsc::Receiver<Mail>) {
    let mut counter = Counter::default();
    while let Some(mail) = mails.recv().await {
        let Some((seq, replies)) = mail.reply else {
            counter.add_body(mail.body.bytes());
            continue;
        };
        let body = counter.answer_body(mail.body.bytes());
        // The connection may be gone; the entity stays for the next one.
        drop(replies.send(Answer { seq, body }).await);
    }
}
