//! Voices in one process, and a network between them that can be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ostrakon_core::{Address, Entry, Index};
use ostrakon_raft::{
    CallError, Calls, MOST_MESSAGE, Members, RaftLog, RaftRequest, RaftResponse, RaftSettings,
    StartError, Voice, VotersError, fresh_id,
};
use ostrakon_storage::conformance::takeover;
use ostrakon_storage::{Append, BoxFuture, Storage};

/// What a test may wait for until something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Who is where, and who does not reach whom.
#[derive(Default)]
pub(crate) struct Net {
    places: Mutex<BTreeMap<Address, Weak<RaftLog>>>,
    silent: Mutex<BTreeSet<Address>>,
    parts: AtomicUsize,
}

/// The network as one voice sees it.
struct Wire {
    net: Arc<Net>,
    from: Address,
}

impl Net {
    /// Nobody reaches it, and it reaches nobody.
    pub(crate) fn isolate(&self, voice: &Voice) {
        self.silent.lock().unwrap().insert(voice.address.clone());
    }

    pub(crate) fn heal(&self) {
        self.silent.lock().unwrap().clear();
    }

    /// How many parts of snapshots have been sent.
    pub(crate) fn parts(&self) -> usize {
        self.parts.load(Ordering::SeqCst)
    }

    fn is_cut(&self, a: &Address, b: &Address) -> bool {
        let silent = self.silent.lock().unwrap();
        silent.contains(a) || silent.contains(b)
    }

    fn at(&self, address: &Address) -> Option<Arc<RaftLog>> {
        self.places.lock().unwrap().get(address)?.upgrade()
    }
}

impl Calls for Wire {
    fn call<'a>(
        &'a self,
        to: &'a Voice,
        request: RaftRequest,
        _: Duration,
    ) -> BoxFuture<'a, Result<RaftResponse, CallError>> {
        Box::pin(async move {
            if self.net.is_cut(&self.from, &to.address) {
                // As a network that loses everything: whoever waits has to end it.
                return std::future::pending().await;
            }
            if format!("{request:?}").contains("snapshot") {
                self.net.parts.fetch_add(1, Ordering::SeqCst);
            }
            let Some(log) = self.net.at(&to.address) else {
                return Err(CallError::Unreachable("nobody is there".to_owned()));
            };
            let bytes = rmp_serde::to_vec_named(&request).unwrap();
            assert!(bytes.len() <= MOST_MESSAGE, "{request:?}");
            let response = log.answer(rmp_serde::from_slice(&bytes).unwrap()).await;
            let bytes = rmp_serde::to_vec_named(&response).unwrap();
            if self.net.is_cut(&self.from, &to.address) {
                return std::future::pending().await;
            }
            Ok(rmp_serde::from_slice(&bytes).unwrap())
        })
    }
}

/// Settings that do not make a test wait, and still work on a busy machine.
pub(crate) fn quick(name: &str) -> RaftSettings {
    let me = Voice {
        id: fresh_id(),
        name: name.parse().unwrap(),
        address: Address::new(format!("{name}:1")).unwrap(),
    };
    let mut settings = RaftSettings::new("test", me);
    settings.heartbeat = Duration::from_millis(80);
    settings.election_min = Duration::from_millis(300);
    settings.election_max = Duration::from_millis(600);
    settings.storage.deadline = Duration::from_secs(1);
    settings
}

pub(crate) async fn start(
    net: &Arc<Net>,
    settings: RaftSettings,
) -> Result<Arc<RaftLog>, StartError> {
    let address = settings.me.address.clone();
    let wire = Wire {
        net: Arc::clone(net),
        from: address.clone(),
    };
    let log = Arc::new(RaftLog::start(settings, Arc::new(wire)).await?);
    let mut places = net.places.lock().unwrap();
    places.insert(address, Arc::downgrade(&log));
    Ok(log)
}

/// One that was stopped or killed before, with what it has on disk.
pub(crate) async fn restart(net: &Arc<Net>, settings: &RaftSettings) -> Arc<RaftLog> {
    loop {
        match start(net, settings.clone()).await {
            Ok(log) => return log,
            // It was dropped, and is about to close its file.
            Err(StartError::InUse { .. }) => tokio::task::yield_now().await,
            Err(other) => panic!("{other:?}"),
        }
    }
}

pub(crate) fn voices(logs: &[Arc<RaftLog>]) -> BTreeMap<u64, Voice> {
    let voices = logs.iter().map(|log| log.me().clone());
    voices.map(|voice| (voice.id, voice)).collect()
}

/// Lets these vote, and nobody only learn.
pub(crate) async fn set_voters(
    leader: &RaftLog,
    voters: &BTreeMap<u64, Voice>,
) -> Result<(), VotersError> {
    let wanted = Members {
        voters: voters.clone(),
        learners: BTreeMap::new(),
    };
    leader.set_members(&wanted).await
}

/// The first leads, all vote.
pub(crate) async fn cluster(net: &Arc<Net>, settings: Vec<RaftSettings>) -> Vec<Arc<RaftLog>> {
    let mut logs = Vec::new();
    for settings in settings {
        logs.push(start(net, settings).await.unwrap());
    }
    logs[0].form().await.unwrap();
    leads(&logs[0]).await;
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    for log in &logs {
        votes(log, &voices(&logs)).await;
    }
    logs
}

pub(crate) async fn three(net: &Arc<Net>) -> Vec<Arc<RaftLog>> {
    cluster(net, ["a", "b", "c"].map(quick).into()).await
}

pub(crate) fn on_disk(folder: &Path, name: &str) -> RaftSettings {
    RaftSettings {
        data: Some(folder.join(name)),
        ..quick(name)
    }
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(PATIENCE, future).await;
    ended.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

pub(crate) async fn leads(log: &RaftLog) {
    let mut leads = log.leads();
    within("a leader", leads.wait_for(|leads| *leads))
        .await
        .unwrap();
}

pub(crate) async fn leads_no_more(log: &RaftLog) {
    let mut leads = log.leads();
    let no_more = leads.wait_for(|leads| !*leads);
    within("the end of a leader", no_more).await.unwrap();
}

/// Which of them leads, as soon as one does.
pub(crate) async fn leader(logs: &[Arc<RaftLog>]) -> Arc<RaftLog> {
    let candidates = logs.iter().map(|log| {
        Box::pin(async move {
            leads(log).await;
            Arc::clone(log)
        })
    });
    futures_util::future::select_all(candidates).await.0
}

pub(crate) async fn votes(log: &RaftLog, voters: &BTreeMap<u64, Voice>) {
    let mut members = log.members();
    let settled = members.wait_for(|members| members.voters == *voters);
    within("the voters", settled).await.unwrap();
}

/// Appends behind whatever is there.
pub(crate) async fn append(log: &RaftLog, entries: &[Entry]) -> Index {
    let last = log.head().await.unwrap().last;
    log.append(Append::behind(last, entries)).await.unwrap();
    Index::new(last.get() + entries.len() as u64)
}

/// A takeover each, one append after the other.
pub(crate) async fn append_each(log: &RaftLog, runs: std::ops::Range<u64>) -> Index {
    let mut last = log.head().await.unwrap().last;
    for run in runs {
        let entry = [takeover(run)];
        log.append(Append::behind(last, &entry)).await.unwrap();
        last = last.next();
    }
    last
}

/// The whole log as it is here, once it goes at least so far.
pub(crate) async fn read(log: &RaftLog, upto: Index) -> Vec<Entry> {
    within("entries", async {
        loop {
            let behind = Index::new(upto.get().saturating_sub(1));
            log.changed(behind).await;
            let read = log.read(Index::default()).await.unwrap();
            if read.entries.last().is_some_and(|(last, _)| *last >= upto) {
                return read.entries.into_iter().map(|(_, entry)| entry).collect();
            }
        }
    })
    .await
}
