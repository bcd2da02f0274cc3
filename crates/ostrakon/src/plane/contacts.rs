//! `Contacts`: a contact with each of those who may decide, whoever they are at the moment.

use std::{collections::BTreeMap, sync::Arc};

use ostrakon_control::Hello;
use ostrakon_tls::{Role, Security};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{
    Event,
    contact::{Address, Contact},
};

pub(crate) struct Contacts {
    /// Those that are known from elsewhere.
    pub(crate) wanted: watch::Receiver<Vec<Address>>,
    /// Those that others have named.
    pub(crate) heard_of: watch::Receiver<Vec<Address>>,
    pub(crate) role: Role,
    pub(crate) security: Security,
    pub(crate) hello: Hello,
    pub(crate) events: mpsc::Sender<Event>,
}

impl Contacts {
    /// Begins and ends contacts as it is wanted, until nobody wants to hear of them any more.
    pub(crate) async fn keep(mut self) {
        let mut kept: BTreeMap<Address, JoinHandle<()>> = BTreeMap::new();
        loop {
            let mut wanted = self.wanted.borrow_and_update().clone();
            wanted.extend(self.heard_of.borrow_and_update().iter().cloned());
            for (address, gone) in kept.extract_if(.., |address, _| !wanted.contains(address)) {
                gone.abort();
                // Nothing of it may be heard after that it is over.
                let _ = gone.await;
                if self
                    .events
                    .send(Event::Parted { contact: address })
                    .await
                    .is_err()
                {
                    return;
                }
            }
            for address in wanted {
                let new = || tokio::spawn(self.contact(Arc::clone(&address)).keep());
                kept.entry(Arc::clone(&address)).or_insert_with(new);
            }
            tokio::select! {
                // Where the addresses never change, nobody is left to change them.
                Ok(()) = self.wanted.changed() => {}
                Ok(()) = self.heard_of.changed() => {}
                () = self.events.closed() => return,
            }
        }
    }

    fn contact(&self, address: Address) -> Contact {
        Contact {
            address,
            role: self.role,
            security: self.security.clone(),
            hello: self.hello.clone(),
            events: self.events.clone(),
        }
    }
}
