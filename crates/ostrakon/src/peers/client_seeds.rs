//! Where a client's seeds are.
//!
//! A node of the cluster hears from the others where everybody is. A client hears it only from those who decide: when all of them come back
//! elsewhere while it is in contact with none, its seeds are all that it has. So it looks them up for as long as it runs. Seeds that are
//! addresses stay where they are, and are looked up once.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ostrakon_council::Seeds;
use tokio::sync::watch;

/// How often the seeds are looked up. It is more than once while `start` waits: where nodes have just moved, the first answer may be an old one.
const LOOK_UP: Duration = Duration::from_secs(10);

/// Where the seeds are, now and from now on, until nobody listens any more.
pub(super) async fn follow(seeds: Seeds) -> watch::Receiver<Vec<Arc<str>>> {
    let (finding, found) = watch::channel(find(&seeds).await);
    if seeds.may_change() {
        tokio::spawn(keep_looking(seeds, finding));
    }
    found
}

async fn keep_looking(seeds: Seeds, finding: watch::Sender<Vec<Arc<str>>>) {
    let looking = async {
        loop {
            tokio::time::sleep(LOOK_UP).await;
            let found = find(&seeds).await;
            finding.send_if_modified(|known| {
                let moved = is_complete(&found) && *known != found;
                if moved {
                    *known = found;
                }
                moved
            });
        }
    };
    tokio::select! {
        () = looking => {}
        // The node is gone.
        () = finding.closed() => {}
    }
}

async fn find(seeds: &Seeds) -> Vec<Arc<str>> {
    let found = seeds.find().await;
    let found = found.iter().map(|seed| seed.as_str().into());
    found.collect()
}

/// Nobody at all, or names among the addresses, is what a look-up says that failed: contacts that work are not given up for it.
fn is_complete(found: &[Arc<str>]) -> bool {
    let is_address = |seed: &Arc<str>| seed.parse::<SocketAddr>().is_ok();
    !found.is_empty() && found.iter().all(is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn seeds_that_have_moved_are_found_until_nobody_listens() {
        let times = watch::Sender::new(0);
        let mut asked = times.subscribe();
        let seeds = Seeds::asked(move || {
            times.send_modify(|times| *times += 1);
            let named = match *times.borrow() {
                1 => vec!["127.0.0.1:7".to_owned()],
                2 => Vec::new(),
                _ => vec!["127.0.0.1:8".to_owned()],
            };
            async move { named }
        });
        let mut found = follow(seeds).await;
        assert_eq!(found.borrow_and_update().join(" "), "127.0.0.1:7");
        found.changed().await.unwrap();
        assert_eq!(found.borrow_and_update().join(" "), "127.0.0.1:8");
        assert_eq!(*asked.borrow_and_update(), 3, "nobody is no news");
        drop(found);
        // The function is gone with the last who could ask it.
        assert!(asked.changed().await.is_err(), "it is asked for ever");
    }
}
