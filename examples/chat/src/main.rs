//! Chat on two nodes: a room is an entity and its talk a stream, wherever its members are; a topic reaches all nodes at once.
//!
//! Both nodes in one process: `cargo run -p chat`.

use anyhow::ensure;
use futures_util::{Stream, stream};
use ostrakon::{EntityStream, Node, entity};
use tokio::sync::mpsc;

const NODES: [(&str, &str); 2] = [("node-1", "127.0.0.1:25540"), ("node-2", "127.0.0.1:25541")];
/// Who has not read so many lines is no longer in the room.
const BEHIND: usize = 64;

/// One room. It lives on one of the nodes; its members need not know which.
#[derive(Default)]
struct Room {
    members: Vec<mpsc::Sender<String>>,
}

#[entity(kind = "room")]
impl Room {
    /// A method that returns a stream: whoever asks gets its items one by one, at its own pace, across nodes too.
    fn join(&mut self, name: String) -> impl Stream<Item = String> + use<> {
        self.pass_on(&format!("{name} comes in"));
        let (member, mut lines) = mpsc::channel(BEHIND);
        self.members.push(member);
        stream::poll_fn(move |cx| lines.poll_recv(cx))
    }

    async fn say(&mut self, name: String, text: String) {
        self.pass_on(&format!("{name}: {text}"));
    }

    /// Who has dropped the stream has left the room.
    fn pass_on(&mut self, line: &str) {
        self.members
            .retain(|member| member.try_send(line.to_owned()).is_ok());
    }
}

/// What each node has one of: it speaks to the people who are connected to that node.
struct Speaker {
    people: Vec<String>,
}

#[entity(kind = "speaker")]
impl Speaker {
    async fn announce(&mut self, text: String) -> String {
        format!("{} hear: {text}", self.people.join(" and "))
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (node1, node2) = tokio::try_join!(start(0), start(1))?;

    // Alice is connected to one node, Bob and Carol are to the other. The room is the same.
    let mut alice = node1.entity::<Room>("lobby").join("Alice".into()).await?;
    let mut bob = node2.entity::<Room>("lobby").join("Bob".into()).await?;
    node2
        .entity::<Room>("lobby")
        .say("Bob".into(), "hello".into())
        .await?;
    let carol = node2.entity::<Room>("lobby").join("Carol".into()).await?;
    drop(carol);
    node1
        .entity::<Room>("lobby")
        .say("Alice".into(), "where did she go?".into())
        .await?;
    read("Alice", &mut alice, 4).await?;
    read("Bob", &mut bob, 3).await?;

    // A topic is for all nodes: each that has a receiver answers for itself.
    for (node, people) in [(&node1, vec!["Alice"]), (&node2, vec!["Bob", "Carol"])] {
        let people = people.into_iter().map(String::from).collect();
        node.join_topic("announcements", Speaker { people })?;
    }
    let topic = node1.topic::<Speaker>("announcements");
    let announce = |reply| {
        let text = "we close at ten".to_owned();
        SpeakerMessage::Announce { text, reply }
    };
    for (node, heard) in topic.ask(announce).await {
        println!("{node}: {}", heard?);
    }

    node1.leave().await?;
    node2.leave().await?;
    Ok(())
}

async fn start(number: usize) -> anyhow::Result<Node> {
    let (name, address) = NODES[number];
    let seeds = NODES.map(|(_, address)| address);
    let node = Node::builder(name).peers(address, seeds);
    let node = node.host::<Room>().start().await?;
    // A topic goes to the nodes that are known: wait until both are.
    node.until_members(NODES.len()).await;
    Ok(node)
}

async fn read(who: &str, room: &mut EntityStream<String>, lines: usize) -> anyhow::Result<()> {
    println!("{who} reads:");
    for _ in 0..lines {
        let line = room.next().await.transpose()?;
        ensure!(line.is_some(), "the room is still open");
        println!("  {}", line.unwrap_or_default());
    }
    Ok(())
}
