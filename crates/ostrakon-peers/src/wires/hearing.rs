//! What other peers say, and to whom it goes.

use std::{sync::Arc, time::Duration};

use ostrakon_control::{Framed, Mouth, PeerWords, Words};
use ostrakon_core::{Address, NodeName, TopologyInput};
use tokio::sync::mpsc;

use super::{ANSWERING, Wires};
use crate::topology_task::News;

/// How long a call waits for a peer that has just come in to answer it: its first calls come before it has opened its log.
const STARTING: Duration = Duration::from_secs(1);

/// What another peer has said.
pub(super) struct Heard {
    pub(super) name: NodeName,
    pub(super) address: Address,
    mouth: Mouth<PeerWords>,
    words: PeerWords,
}

impl Wires {
    /// Unless it must not say that.
    pub(super) fn hear(
        &self,
        name: &NodeName,
        address: &Address,
        mouth: &Mouth<PeerWords>,
        words: PeerWords,
    ) -> Result<Heard, String> {
        if let PeerWords::Gossip(message) = &words
            && message.from != *name
        {
            return Err(format!("it speaks for `{}`", message.from));
        }
        Ok(Heard {
            name: name.clone(),
            address: address.clone(),
            mouth: mouth.clone(),
            words,
        })
    }

    /// Hands on what is heard; waits for nobody.
    pub(super) async fn listen(self, mut hearing: mpsc::Receiver<Heard>) {
        while let Some(heard) = hearing.recv().await {
            let from = heard.address;
            match heard.words {
                PeerWords::Gossip(message) => {
                    self.tell(News::Happened(TopologyInput::Message { from, message }));
                }
                PeerWords::Call { call, request } => {
                    self.answer(heard.name, heard.mouth, call, request);
                }
                PeerWords::Answer { call, response } => self.0.calls.answered(call, response),
            }
        }
    }

    /// Whoever gets no answer asks again.
    fn answer(&self, from: NodeName, mouth: Mouth<PeerWords>, call: u64, request: Vec<u8>) {
        let Ok(place) = Arc::clone(&self.0.answering).try_acquire_owned() else {
            return tracing::warn!(%from, most = ANSWERING, "a call is not answered: there are too many");
        };
        let wires = self.clone();
        tokio::spawn(async move {
            let Some(hook) = wires.0.hooks.on_call(STARTING).await else {
                return tracing::debug!(%from, "a call is not answered: nobody here answers calls yet");
            };
            let response = hook(from.clone(), request).await;
            match Framed::new(&PeerWords::Answer { call, response }) {
                Ok(frame) if frame.size() <= PeerWords::MOST => wires.put(&mouth, &frame),
                Ok(frame) => {
                    tracing::error!(%from, size = frame.size(), "an answer is too large to be sent");
                }
                Err(error) => tracing::error!(%from, %error, "an answer cannot be sent"),
            }
            drop(place);
        });
    }
}
