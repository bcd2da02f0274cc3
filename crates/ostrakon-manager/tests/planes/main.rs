//! One set of behaviours, on every plane: a node alone, nodes that a manager looks after, and nodes that look after themselves.
//!
//! A scenario is an `async fn` that gets a [`Cluster`](cluster::Cluster) and does not know which plane it runs on. The list at the end says
//! how many nodes each one needs; on one node there are only those that can do with one. What is particular to a plane is tested
//! elsewhere.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod actors;
mod asks;
mod changes;
mod citizen;
mod clients;
mod cluster;
mod gate;
mod lives;
mod places;
mod streams;

/// Makes a test of each scenario for each plane. The number is how many nodes it needs; those under `alone_too` can do with one.
macro_rules! scenarios {
    (
        alone_too { $($one:ident :: $any:ident ($some:literal),)* }
        clustered { $($two:ident :: $many:ident ($most:literal),)* }
    ) => {
        mod solo {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $any() {
                crate::$one::$any(crate::cluster::Cluster::solo().await).await;
            })*
        }

        scenarios! { plane managed { $($one::$any($some),)* $($two::$many($most),)* } }
        scenarios! { plane peer { $($one::$any($some),)* $($two::$many($most),)* } }
    };
    (plane $plane:ident { $($module:ident :: $scenario:ident ($nodes:literal),)* }) => {
        mod $plane {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $scenario() {
                crate::$module::$scenario(crate::cluster::Cluster::$plane($nodes).await).await;
            })*
        }
    };
}

scenarios! {
    alone_too {
        asks::asks_are_answered_and_the_state_stays(2),
        asks::what_is_told_before_an_ask_is_handled_before_it(2),
        asks::ids_may_have_any_characters(2),
        asks::a_kind_that_nobody_hosts_is_an_error_at_once(2),
        asks::a_deadline_that_passes_says_what_is_known(2),
        asks::a_panic_is_told_and_the_entity_starts_anew(2),
        streams::items_arrive_in_order_and_end(2),
        streams::a_slow_consumer_slows_the_producer(2),
        streams::a_consumer_that_goes_stops_the_producer(2),
        lives::a_timer_rings(2),
        lives::an_idle_entity_stops_and_starts_anew(2),
        lives::an_entity_knows_its_node_and_its_epoch(2),
        places::every_entity_lives_exactly_once(3),
        places::the_topology_lists_all_nodes(3),
        actors::what_is_published_reaches_each_node_once(3),
        actors::an_actor_is_found_by_name_and_node(3),
        actors::the_receptionist_lists_actors_of_all_nodes(3),
        actors::a_singleton_runs_once_unasked(3),
        actors::a_singleton_without_a_shard_keeps_its_node_from_starting(1),
    }
    clustered {
        places::the_topology_changes_when_a_node_leaves(3),
        clients::a_client_asks_streams_and_publishes(2),
        clients::a_client_learns_that_nobody_hosts_a_kind(2),
        changes::what_a_lost_node_had_goes_on_elsewhere(3),
        changes::no_ask_fails_while_a_node_leaves(3),
        changes::a_node_that_joins_gets_shards(2),
    }
}
