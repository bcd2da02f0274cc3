//! Asking and telling entities, wherever they live.

use std::time::Duration;

use ostrakon::{AskError, Outcome, TellError};

use crate::{
    citizen::{Citizen, Ghost},
    cluster::Cluster,
    gate::Gate,
};

/// Enough that some live on each of a few nodes.
const ENTITIES: u64 = 20;

pub(crate) async fn asks_are_answered_and_the_state_stays(cluster: Cluster) {
    let mut asked = 0;
    for node in &cluster.nodes {
        asked += 1;
        for id in 0..ENTITIES {
            let citizen = node.entity::<Citizen>(format!("citizen-{id}"));
            assert_eq!(citizen.note(id).await, Ok(asked));
            assert_eq!(citizen.notes().await, Ok(vec![id; asked as usize]));
        }
    }
}

pub(crate) async fn what_is_told_before_an_ask_is_handled_before_it(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..ENTITIES {
            let citizen = node.entity::<Citizen>(format!("{}/{id}", node.name()));
            for note in 0..100 {
                citizen.tell().note(note).await.unwrap();
            }
            let notes = citizen.notes().await.unwrap();
            assert!(notes.iter().copied().eq(0..100), "{notes:?}");
        }
    }
}

pub(crate) async fn ids_may_have_any_characters(cluster: Cluster) {
    let ids = [
        " ",
        "a/b",
        "../..",
        "a b",
        "a\nb",
        "\0",
        "{}%00?&=#",
        "'\"`$(x)",
        "ε",
        "e\u{301}",
        "🦀🦀",
        "\u{202e}x",
    ];
    let mut seen = 0;
    for node in &cluster.nodes {
        seen += 1;
        for id in ids {
            let counted = node.entity::<Citizen>(id).note(0).await;
            assert_eq!(counted, Ok(seen), "{id:?} by {}", node.name());
        }
        let empty = node.entity::<Citizen>("").note(0).await.unwrap_err();
        let invalid = matches!(empty, AskError::NotSent(TellError::InvalidId(_)));
        assert!(invalid, "{empty}");
    }
}

pub(crate) async fn a_kind_that_nobody_hosts_is_an_error_at_once(cluster: Cluster) {
    let unknown = TellError::UnknownKind {
        kind: "ghost".to_owned(),
    };
    for node in &cluster.nodes {
        let ghost = node.entity::<Ghost>("a");
        let asked = ghost.haunt().await.unwrap_err();
        assert_eq!(asked, AskError::NotSent(unknown.clone()));
        assert_eq!(asked.outcome(), Outcome::NotExecuted);
        assert!(!asked.is_retryable());
        assert_eq!(ghost.tell().haunt().await, Err(unknown.clone()));
    }
}

pub(crate) async fn a_deadline_that_passes_says_what_is_known(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..4 {
            let id = format!("{}/{id}", node.name());
            let patient = node.entity::<Citizen>(&id);
            // So that it need not be found or placed within the deadline.
            patient.note(1).await.unwrap();
            let (gate, name) = Gate::new();
            let hasty = patient.clone().within(Duration::from_millis(200));
            let (running, waiting) = tokio::join!(hasty.wait(name), async {
                gate.knocked(1).await;
                hasty.note(2).await
            });
            let running = running.unwrap_err();
            assert_eq!(running, AskError::TimedOut, "{id}");
            assert_eq!(running.outcome(), Outcome::Unknown);
            let waiting = waiting.unwrap_err();
            gate.open();
            let notes = patient.notes().await.unwrap();
            if waiting == AskError::Expired {
                assert_eq!(notes, [1], "{id}: its turn came after all");
            } else {
                // Nobody has said in time that it had not begun on the other node.
                assert_eq!(waiting, AskError::TimedOut, "{id}");
                assert_ne!(patient.node().await.unwrap(), node.name().as_str());
            }
        }
    }
}

pub(crate) async fn a_panic_is_told_and_the_entity_starts_anew(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..4 {
            let citizen = node.entity::<Citizen>(format!("{}/{id}", node.name()));
            assert_eq!(citizen.note(1).await, Ok(1));
            assert_eq!(citizen.note(2).await, Ok(2));
            let failed = citizen.fail().await.unwrap_err();
            assert!(matches!(failed, AskError::Failed(_)), "{failed}");
            assert!(failed.to_string().contains("as it was told to"), "{failed}");
            assert_eq!(failed.outcome(), Outcome::FailedInHandler);
            assert_eq!(citizen.notes().await, Ok(Vec::new()));
        }
    }
}
