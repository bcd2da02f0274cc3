//! Parting: whoever leaves stays until its vote has been taken back.
//!
//! A voter that is gone before that is missed at the next vote, and one that leads is waited for. It cannot see for itself when it is over:
//! whoever does not vote is told nothing any more. So it asks the others. It is for the sake of availability; nothing is unsafe without it.

use std::time::Duration;

use ostrakon_peers::Wires;
use ostrakon_raft::{Members, RaftLog, Voice};
use tokio::task::JoinSet;

use crate::network::Call;

/// How long to stay at most.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long somebody who is asked waits for it to be so.
const MOMENT: Duration = Duration::from_millis(500);
/// How long to wait before somebody is asked again who did not answer.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until this voice does not vote, as one of the others says, or nobody is left who could.
pub(crate) async fn until_voteless(log: &RaftLog, wires: &Wires) {
    let me = log.me().id;
    let waiting = async {
        loop {
            let members = log.members().borrow().clone();
            let others = others(&members, me);
            if !members.voters.contains_key(&me) || others.is_empty() {
                return;
            }
            let asking = others.into_iter();
            let asking = asking.map(|other| ask(wires.clone(), other, me));
            let mut asking: JoinSet<bool> = asking.collect();
            while let Some(is_so) = asking.join_next().await {
                if is_so.unwrap_or(false) {
                    return;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
        tracing::warn!("this peer goes with its vote: whoever leads takes it back later");
    }
}

/// Who knows it: those who vote, and where there are none those who will.
fn others(members: &Members, me: u64) -> Vec<Voice> {
    let others = |voices: &std::collections::BTreeMap<u64, Voice>| {
        let others = voices.values().filter(|voice| voice.id != me);
        others.cloned().collect::<Vec<_>>()
    };
    match others(&members.voters) {
        voters if voters.is_empty() => others(&members.learners),
        voters => voters,
    }
}

async fn ask(wires: Wires, other: Voice, me: u64) -> bool {
    let Ok(call) = rmp_serde::to_vec_named(&Call::HasNoVote(me)) else {
        return false;
    };
    let answer = wires.call(&other.address, call, MOMENT * 2).await;
    // Whoever does not answer may not know it yet, or what it is.
    answer.is_ok_and(|answer| rmp_serde::from_slice(&answer).unwrap_or(false))
}

/// Waits a moment for it to be so.
pub(crate) async fn has_no_vote(log: &RaftLog, voice: u64) -> bool {
    let mut members = log.members();
    let is_so = |members: &Members| {
        let is_known = !members.voters.is_empty();
        is_known && !members.voters.contains_key(&voice)
    };
    let waiting = members.wait_for(is_so);
    tokio::time::timeout(MOMENT, waiting)
        .await
        .is_ok_and(|seen| seen.is_ok())
}
