//! What every backend must do, as functions that its tests call.
//!
//! A test file gives [`conformance_tests!`](crate::conformance_tests) a [`Place`], and gets one test for each function below. They panic
//! when something is wrong, as tests do. Each wants a place of its own; what a server does when it fails is not in here, because only its
//! own tests can make it fail.
#![expect(clippy::unwrap_used, reason = "these are the bodies of tests")]

mod changes;
mod entries;
mod leases;
mod log;

use std::sync::Arc;
use std::time::Duration;

pub use changes::{
    an_append_wakes_whoever_waits_at_another_handle, waiting_ends_by_itself,
    what_lies_there_already_is_not_waited_for,
};
pub use entries::{expire, group, register, state_of, takeover};
pub use leases::{
    a_lease_begins_and_ends_with_its_run, a_lease_that_has_moved_keeps_its_run_from_expiring,
    a_run_is_never_both_renewed_and_expired, compaction_forgets_the_leases_of_runs_that_are_over,
};
pub use log::{
    a_log_is_read_in_parts, a_lost_answer_is_found_by_reading,
    a_snapshot_stands_for_what_it_contains, an_append_must_be_at_the_end,
    entries_are_read_in_order_by_every_handle, exactly_one_of_many_appenders_wins_each_index,
    only_the_present_leader_beats, reopening_keeps_everything,
    too_much_at_once_is_refused_before_anything_is_written,
    whoever_has_seen_more_than_there_is_is_told,
};

use crate::{BoxFuture, Storage, StorageSettings};

/// Somewhere a log can lie that no other test uses.
pub trait Place: Send + Sync {
    /// Another handle to it; the same one if there can be only one.
    fn open(&self, settings: StorageSettings) -> BoxFuture<'_, Arc<dyn Storage>>;
}

/// Settings for a machine that is busy with other tests: what is right must not fail for being slow.
pub fn patient() -> StorageSettings {
    StorageSettings {
        deadline: Duration::from_secs(30),
        poll: Duration::from_secs(60),
        ..StorageSettings::default()
    }
}

/// Panics if a test hangs.
pub async fn within_two_minutes(test: impl Future<Output = ()>) {
    let limit = Duration::from_secs(120);
    tokio::time::timeout(limit, test).await.unwrap();
}

/// One test for each thing that every backend must do. The argument gives a new [`Place`](crate::conformance::Place) and may await.
#[macro_export]
macro_rules! conformance_tests {
    ($place:expr) => {
        $crate::conformance_tests! { $place =>
            a_lease_begins_and_ends_with_its_run,
            a_lease_that_has_moved_keeps_its_run_from_expiring,
            a_log_is_read_in_parts,
            a_lost_answer_is_found_by_reading,
            a_run_is_never_both_renewed_and_expired,
            a_snapshot_stands_for_what_it_contains,
            an_append_must_be_at_the_end,
            an_append_wakes_whoever_waits_at_another_handle,
            compaction_forgets_the_leases_of_runs_that_are_over,
            entries_are_read_in_order_by_every_handle,
            exactly_one_of_many_appenders_wins_each_index,
            only_the_present_leader_beats,
            reopening_keeps_everything,
            too_much_at_once_is_refused_before_anything_is_written,
            waiting_ends_by_itself,
            what_lies_there_already_is_not_waited_for,
            whoever_has_seen_more_than_there_is_is_told,
        }
    };
    ($place:expr => $($name:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let place = $place;
                let test = $crate::conformance::$name(&place);
                $crate::conformance::within_two_minutes(test).await;
            }
        )*
    };
}
