//! What openraft asks of a store, as it tests it itself; and that its entries fit into requests.

use openraft::storage::RaftLogStorageExt;
use openraft::testing::log::{StoreBuilder, Suite};
use openraft::testing::{blank_ent, log_id};
use openraft::{EntryPayload, StorageError};
use ostrakon_core::{Command, Entry, Index, Term};
use ostrakon_servers::Folder;

use super::*;
use crate::Change;
use crate::state_machine::StateMachine;

struct InMemory;
struct OnDisk;

impl StoreBuilder<TypeConfig, LogStore, StateMachine, ()> for InMemory {
    async fn build(&self) -> Result<((), LogStore, StateMachine), StorageError<TypeConfig>> {
        let log = LogStore::new(None, StoredLog::default()).unwrap();
        Ok(((), log, StateMachine::new(None, None).unwrap()))
    }
}

impl StoreBuilder<TypeConfig, LogStore, StateMachine, ()> for OnDisk {
    async fn build(&self) -> Result<((), LogStore, StateMachine), StorageError<TypeConfig>> {
        let (disk, found) = Disk::in_memory();
        let log = LogStore::new(Some(disk.clone()), found.log).unwrap();
        let machine = StateMachine::new(Some(disk), found.snapshot).unwrap();
        Ok(((), log, machine))
    }
}

/// The suite sleeps much, but only to let others run.
#[tokio::test(start_paused = true)]
async fn the_store_in_memory_does_what_the_consensus_expects() {
    Suite::test_all(InMemory).await.unwrap();
}

/// The suite sleeps much, but only to let others run.
#[tokio::test(start_paused = true)]
async fn the_store_on_disk_does_what_the_consensus_expects() {
    Suite::test_all(OnDisk).await.unwrap();
}

#[tokio::test]
async fn a_request_gets_as_many_entries_as_fit_but_at_least_one() {
    let (_, mut log, _) = InMemory.build().await.unwrap();
    let entries = (1..=5).map(|index| match index {
        1 => blank_ent::<TypeConfig>(1, 1, index),
        _ => large(index),
    });
    log.blocking_append(entries).await.unwrap();
    let mut counted = async |start| {
        let part = log.limited_get_log_entries(start, 6).await;
        part.unwrap().len()
    };
    assert_eq!(counted(1).await, 2);
    assert_eq!(counted(2).await, 1);
    assert_eq!(counted(5).await, 1);
}

/// Two of them are too many.
fn large(index: u64) -> LogEntry {
    let command = Command::Takeover {
        grantor: "a".parse().unwrap(),
        run: 1,
    };
    let entry = Entry {
        term: Term::default(),
        command,
    };
    let one = codec::encode(&entry).unwrap().len();
    let change = Change::Append {
        after: Index::default(),
        entries: vec![entry; MOST_REQUEST * 2 / 3 / one],
        unmoved: Vec::new(),
    };
    LogEntry {
        log_id: log_id::<TypeConfig>(1, 1, index),
        payload: EntryPayload::Normal(change),
    }
}

#[tokio::test]
async fn everything_is_found_again_on_disk() {
    let folder = Folder::new("raft").unwrap();
    let (vote, id) = (Vote::new(7, 3), |index| log_id::<TypeConfig>(7, 3, index));
    {
        let (disk, found) = Disk::open(folder.path(), "test", 11).await.unwrap();
        assert_eq!(found.id, 11);
        let mut log = LogStore::new(Some(disk.clone()), found.log).unwrap();
        log.save_vote(&vote).await.unwrap();
        let entries = (1..=9).map(|index| blank_ent::<TypeConfig>(7, 3, index));
        log.blocking_append(entries).await.unwrap();
        log.truncate_after(Some(id(8))).await.unwrap();
        log.purge(id(3)).await.unwrap();
        log.save_committed(Some(id(6))).await.unwrap();
        disk.close().await;
        let refused = log.save_vote(&Vote::new(8, 3)).await;
        refused.expect_err("it is closed");
    }
    let (disk, found) = Disk::open(folder.path(), "test", 12).await.unwrap();
    assert_eq!(found.id, 11, "the id belongs to the log");
    let mut log = LogStore::new(Some(disk), found.log).unwrap();
    assert_eq!(log.read_vote().await.unwrap(), Some(vote));
    assert_eq!(log.read_committed().await.unwrap(), Some(id(6)));
    let state = log.get_log_state().await.unwrap();
    assert_eq!(
        (state.last_purged_log_id, state.last_log_id),
        (Some(id(3)), Some(id(8)))
    );
    let entries = log.try_get_log_entries(..).await.unwrap();
    let found: Vec<_> = entries.iter().map(|entry| entry.log_id.index).collect();
    assert_eq!(found, [4, 5, 6, 7, 8]);
}
