//! A thousand shards on fifty nodes: still readable, and still one stop of the Tab key.

use ostrakon::{GroupName, Hosting, Managed, Node, ShardCount, ShardGroup, ShardHash, entity};
use tokio::task::JoinSet;

use crate::{browser::Browser, folder::Folder, server::Server};

const NODES: usize = 50;

#[derive(Default)]
struct Counter;

#[entity(kind = "counter")]
impl Counter {
    async fn add(&mut self, amount: u64) -> u64 {
        amount
    }
}

fn group() -> ShardGroup {
    ShardGroup {
        name: GroupName::default(),
        count: ShardCount::new(1000).unwrap(),
        hash: ShardHash::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_shards_on_fifty_nodes_are_readable() {
    let folder = Folder::new();
    let server = Server::start(&folder, "--failover proof");
    let mut starting = JoinSet::new();
    for number in 1..=NODES {
        let node = Node::builder(format!("node-{number}")).group(group());
        let node = node.managed(Managed::from(server.nodes.as_str()));
        starting.spawn(node.host_as::<Counter>(Hosting::default()).start());
    }
    let nodes = starting.join_all().await;
    assert!(nodes.iter().all(Result::is_ok));

    let browser = Browser::open(&server.url()).await;
    let all = "document.querySelectorAll('#map .cell.owned').length === 1000 \
               && document.querySelectorAll('#map .row').length === 50";
    browser.until("all shards", all).await;
    let large_enough = "[...document.querySelectorAll('#map .cell')].filter((cell) => \
                        cell.getBoundingClientRect().width >= 10).length";
    assert_eq!(browser.count(large_enough).await, 1000);
    let too_wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.count(too_wide).await, 0, "nothing is cut off");
    let height = browser
        .count("document.querySelector('#map').clientHeight")
        .await;
    assert!(
        height < 800,
        "the map is {height} high and does not fit a screen"
    );

    browser.click("#map .cell").await;
    browser.press("\u{e014}\u{e015}").await; // Right, then down.
    let walked = "document.querySelector('#readout').textContent.includes('owned by node-')";
    browser.until("what the arrow keys came to", walked).await;
    browser.click("#shard-table summary").await;
    let rows = "document.querySelectorAll('#shard-table tbody tr').length === 1000";
    browser.until("the table of all shards", rows).await;
    browser.picture("crowd").await;
    browser.close().await;
}
