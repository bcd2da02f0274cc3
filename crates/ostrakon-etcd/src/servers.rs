//! `Servers`: the members of an etcd cluster, of which one is asked at a time.
//!
//! A request goes to the member that answered last. One that cannot be connected to is passed over, because nothing was sent to it; when a
//! request gets lost, the *next* request goes to another member, and this one is not repeated. Connections come back by themselves.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use etcd_client::{
    Client, ConnectOptions, KeyValue, Txn, TxnOpResponse, TxnResponse, WatchOptions, WatchStream,
};
use ostrakon_storage::backend::NoAnswer;
use tokio::sync::OnceCell;

use crate::address::Address;
use crate::failure::Failure;

/// What is read is what was written, and a snapshot may have any size.
const MOST_RECEIVED: usize = usize::MAX;
/// etcd closes connections on which this comes more often than every five seconds.
const PING_EVERY: Duration = Duration::from_secs(10);

pub(crate) struct Servers {
    members: Vec<Member>,
    present: AtomicUsize,
    deadline: Duration,
}

struct Member {
    address: String,
    options: ConnectOptions,
    client: OnceCell<Client>,
}

/// What a transaction did.
pub(crate) struct Outcome {
    /// Whether its conditions held.
    pub(crate) held: bool,
    /// The revision of the whole store then, its own if it wrote something.
    pub(crate) revision: i64,
    /// What its reads found, one after the other.
    pub(crate) found: Vec<Vec<KeyValue>>,
}

impl Servers {
    pub(crate) fn of(address: Address, deadline: Duration) -> Self {
        // All of them must have had their turn when the deadline comes, and the last one time to answer.
        let turns = u32::try_from(address.servers.len() + 1).unwrap_or(u32::MAX);
        let mut options = ConnectOptions::new()
            .with_connect_timeout(deadline / turns)
            .with_keep_alive(PING_EVERY, deadline)
            .with_keep_alive_while_idle(false)
            .with_require_leader(true);
        if let Some((name, password)) = address.user {
            options = options
                .with_user(name, password)
                .with_auto_token_refresh(true);
        }
        let members = address.servers.into_iter().map(|address| Member {
            address,
            options: options.clone(),
            client: OnceCell::new(),
        });
        Self {
            members: members.collect(),
            present: AtomicUsize::new(0),
            deadline,
        }
    }

    /// How they are called in errors.
    pub(crate) fn names(&self) -> String {
        let names = self.members.iter().map(|member| member.address.as_str());
        names.collect::<Vec<_>>().join(",")
    }

    /// One call of a storage, however many requests it is.
    pub(crate) async fn in_time<T, E: From<Failure>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let present = self.present.load(Relaxed);
        match tokio::time::timeout(self.deadline, call).await {
            Ok(answer) => answer,
            Err(_) => {
                self.leave(present);
                let silence = NoAnswer(self.deadline);
                Err(Failure::Unknown(silence.into()).into())
            }
        }
    }

    pub(crate) async fn transact(&self, txn: Txn) -> Result<Outcome, Failure> {
        self.ask(|client| {
            let mut kv = client.kv_client().max_decoding_message_size(MOST_RECEIVED);
            let txn = txn.clone();
            async move { Ok(kv.txn(txn).await?.into()) }
        })
        .await
    }

    pub(crate) async fn watch(
        &self,
        key: String,
        options: WatchOptions,
    ) -> Result<WatchStream, Failure> {
        self.ask(|client| {
            let mut watcher = client.watch_client();
            let (key, options) = (key.clone(), options.clone());
            async move { Ok(watcher.watch(key, Some(options)).await?) }
        })
        .await
    }

    async fn ask<T, F>(&self, request: impl Fn(&Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut left_over = self.members.len();
        loop {
            left_over -= 1;
            let present = self.present.load(Relaxed);
            let member = &self.members[present % self.members.len()];
            // The futures of the client are so large that every caller would have to carry kilobytes.
            let answer = match Box::pin(member.client()).await {
                Ok(client) => Box::pin(request(client)).await,
                Err(failure) => Err(failure),
            };
            if matches!(answer, Err(Failure::NotSent(_) | Failure::Unknown(_))) {
                self.leave(present);
            }
            match answer {
                Err(Failure::NotSent(_)) if left_over > 0 => {}
                answer => return answer,
            }
        }
    }

    /// Unless somebody else has done so meanwhile.
    fn leave(&self, present: usize) {
        let next = present.wrapping_add(1);
        // Either this or another request moved on.
        let _ = self
            .present
            .compare_exchange(present, next, Relaxed, Relaxed);
    }
}

impl Member {
    /// Connects with the first request, or to prove who we are.
    async fn client(&self) -> Result<&Client, Failure> {
        let connect = || Client::connect([&self.address], Some(self.options.clone()));
        let client = self.client.get_or_try_init(connect).await;
        client.map_err(Failure::before_request)
    }
}

impl From<TxnResponse> for Outcome {
    fn from(response: TxnResponse) -> Self {
        let found = response.op_responses().into_iter();
        let found = found.filter_map(|answer| match answer {
            TxnOpResponse::Get(mut found) => Some(found.take_kvs()),
            TxnOpResponse::Put(_) | TxnOpResponse::Delete(_) | TxnOpResponse::Txn(_) => None,
        });
        Self {
            held: response.succeeded(),
            revision: response.header().map_or(0, |header| header.revision()),
            found: found.collect(),
        }
    }
}
