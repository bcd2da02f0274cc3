//! The guild: the whole scenario of an end-to-end suite, on one node.

use std::{collections::BTreeSet, time::Duration};

use futures_core::Stream;
use futures_util::{TryStreamExt, stream};
use ostrakon::{AskError, Hosting, Node, Reply, entity};
use serde::{Deserialize, Serialize};

use crate::Setup;

twice! {
    a_guild_fills_up_survives_silence_and_lists_its_members,
}

const MOST_MEMBERS: usize = 5;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the guild has {members} members already")]
struct GuildIsFull {
    members: usize,
}

#[derive(Default)]
struct Guild {
    members: BTreeSet<String>,
    unanswered: Vec<Reply<()>>,
}

#[entity(kind = "guild")]
impl Guild {
    async fn join(&mut self, member: String) -> Result<BTreeSet<String>, GuildIsFull> {
        if self.members.len() >= MOST_MEMBERS {
            let members = self.members.len();
            return Err(GuildIsFull { members });
        }
        self.members.insert(member);
        Ok(self.members.clone())
    }

    async fn leave(&mut self, member: String) {
        self.members.remove(&member);
    }

    async fn ignore(&mut self, answer: Reply<()>) {
        self.unanswered.push(answer);
    }

    fn members(&mut self) -> impl Stream<Item = String> {
        stream::iter(self.members.clone())
    }
}

// Shardcake, end-to-end suite: the fifth to join sees five members and the sixth is refused; a message that is never
// answered fails by its time limit and later ones still work; the stream of members has five items.
async fn a_guild_fills_up_survives_silence_and_lists_its_members(setup: Setup) {
    let builder = Node::builder("solo").host_as::<Guild>(Hosting::default());
    let node = setup(builder).start().await.unwrap();
    let guild = node.entity::<Guild>("guild1");
    for n in 1..=5 {
        let members = guild.join(format!("user{n}")).await.unwrap();
        assert_eq!(members.len(), n);
    }
    let full = Err(AskError::Rejected(GuildIsFull { members: 5 }));
    assert_eq!(guild.join("user6".into()).await, full);

    let ignore = |answer| GuildMessage::Ignore {
        answer,
        reply: Reply::ignored(),
    };
    let hasty = guild.as_ref().clone().within(Duration::from_secs(3));
    assert_eq!(hasty.ask(ignore).await, Err(AskError::TimedOut));

    let members: Vec<String> = guild.members().await.unwrap().try_collect().await.unwrap();
    assert_eq!(members, ["user1", "user2", "user3", "user4", "user5"]);
    guild.tell().leave("user3".into()).await.unwrap();
    let members = guild.join("user6".into()).await.unwrap();
    assert!(members.contains("user6") && !members.contains("user3"));
    node.leave().await.unwrap();
}
