//! How somebody is dialed, and what is made of it if that is in vain.

use std::{io, net::SocketAddr, time::Duration};

use ostrakon_control::{GreetingError, Peer};
use ostrakon_core::{Address, ConnectFailure, TopologyInput};

use super::Wires;
use crate::topology_task::News;

/// How long a peer may take to let us in.
const GREETING: Duration = Duration::from_secs(3);

impl Wires {
    pub(super) async fn dial(self, to: Address) {
        match self.connect(&to).await {
            Ok(peer) if peer.session == self.0.own.session => {
                let trouble = "that is this peer itself".to_owned();
                self.failed(&to, ConnectFailure::Myself, trouble);
            }
            Ok(peer) => self.attend(Some(to), peer).await,
            Err((failure, error)) => self.failed(&to, failure, error.to_string()),
        }
    }

    /// Dials each address of a name until one answers.
    async fn connect(&self, to: &Address) -> Result<Peer, (ConnectFailure, GreetingError)> {
        let no_answer = |error| (ConnectFailure::NoAnswer, error);
        let looking = tokio::net::lookup_host(to.as_str());
        let found = tokio::time::timeout(GREETING, looking).await;
        let found = found.map_err(|_| no_answer(GreetingError::Late(GREETING)))?;
        let found: Vec<SocketAddr> = found.map_err(|error| no_answer(error.into()))?.collect();
        let mut failed = (
            ConnectFailure::NoAnswer,
            io::Error::new(io::ErrorKind::NotFound, "the name has no address").into(),
        );
        let mut all_refused = true;
        for address in found {
            match self.0.own.dial(address, &self.0.security, GREETING).await {
                Ok(peer) => return Ok(peer),
                Err(error) => {
                    all_refused &= is_refused(&error);
                    failed.1 = error;
                }
            }
            failed.0 = match all_refused {
                true => ConnectFailure::Refused,
                false => ConnectFailure::NoAnswer,
            };
        }
        Err(failed)
    }

    fn failed(&self, to: &Address, failure: ConnectFailure, trouble: String) {
        let Some(is_new) = self.lines().failed(to, &trouble) else {
            return;
        };
        self.0.calls.unreachable(to, &trouble);
        match (is_new, failure) {
            (true, ConnectFailure::Refused | ConnectFailure::NoAnswer) => {
                tracing::warn!(peer = %to, %trouble, "a peer cannot be reached");
            }
            (true, ConnectFailure::Myself) | (false, _) => {
                tracing::debug!(peer = %to, %trouble, "a peer cannot be reached");
            }
        }
        let address = to.clone();
        self.tell(News::Happened(TopologyInput::Unreachable {
            address,
            failure,
        }));
    }
}

fn is_refused(error: &GreetingError) -> bool {
    matches!(error, GreetingError::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}
