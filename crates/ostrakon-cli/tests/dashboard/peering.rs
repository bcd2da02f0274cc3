//! The page of a peer that does not lead: it shows as much as that of a manager, and what its own gossip thinks of the others besides.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::ChildStdout,
    time::Duration,
};

use ostrakon::{GroupName, Node, Peers, Seeds, entity};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    browser::{Browser, is_text},
    folder::Folder,
    server::Process,
};

const NAMES: [&str; 3] = ["node-1", "node-2", "node-3"];

/// What the client knows of those that the peers host.
struct Account;

#[entity(kind = "account")]
impl Account {
    async fn balance(&self) -> i64 {
        0
    }
}

/// A peer's process, and what it says, which somebody has to take.
struct Peer {
    name: &'static str,
    _process: Process,
    said: BufReader<ChildStdout>,
}

impl Peer {
    fn start(folder: &Folder, name: &'static str, at: &str, seeds: &[String]) -> Self {
        let seeds: Vec<_> = seeds.iter().map(|seed| format!("--seed {seed}")).collect();
        let arguments = format!(
            "demo-node --name {name} --cluster ostrakon --peers-at {at} {} --journal journal --node-version 1.4.0 --listen 127.0.0.1:0",
            seeds.join(" ")
        );
        let (process, said) = Process::start(folder, &arguments);
        Self {
            name,
            _process: process,
            said,
        }
    }

    /// Where its page is, as soon as it has joined.
    fn dashboard(&mut self) -> String {
        let mut lines = self.said.by_ref().lines().map_while(Result::ok);
        let page = lines.find_map(|line| Some(line.strip_prefix("dashboard ")?.to_owned()));
        assert!(
            lines.any(|line| line == "ready"),
            "{} did not join",
            self.name
        );
        page.unwrap()
    }
}

/// Addresses of loopback that only this process uses.
fn addresses() -> Vec<String> {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let host = |number: u8| {
        format!(
            "127.{}.{middle}.{low}:{}",
            100 + high,
            7000 + u16::from(number)
        )
    };
    (1..=3).map(host).collect()
}

/// The part of each, when all of them vote.
fn leader(folder: &Folder, page: &str) -> String {
    let began = std::time::Instant::now();
    loop {
        let status = folder.run(&format!("status --json --peer {page}"));
        let status: Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
        let peers = &status["peers"];
        if let (Some(leader), true) = (peers["leader"].as_str(), peers["voters"] == json!(NAMES)) {
            return leader.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{status:#}");
    }
}

/// Asks accounts of all nodes without end.
async fn work(client: Node) {
    for number in (0..200).cycle() {
        let account = client.entity::<Account>(format!("account-{number}"));
        // What becomes of an ask while its node is killed is not what is looked at here.
        let _ = tokio::time::timeout(Duration::from_millis(50), account.balance()).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn client(seeds: &[String]) -> Node {
    let peers = Peers::at("127.0.0.1:0").seeds(Seeds::new(seeds.to_vec()));
    let client = Node::builder("client").peer(peers);
    let client = client.reach::<Account>(GroupName::default());
    client.start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_does_not_lead_shows_all_and_sees_another_one_end() {
    let folder = Folder::new();
    fs::create_dir_all(folder.0.join("journal")).unwrap();
    let seeds = addresses();
    let start = |(name, at): (&'static str, &String)| Peer::start(&folder, name, at, &seeds);
    let mut peers: Vec<_> = NAMES.into_iter().zip(&seeds).map(start).collect();
    let pages: Vec<_> = peers.iter_mut().map(Peer::dashboard).collect();
    let leader = leader(&folder, &pages[0]);
    let follows = |name: &&str| **name != leader;
    let others: Vec<_> = NAMES.into_iter().filter(follows).collect();
    let [shown, victim] = others[..] else {
        panic!("{leader} is none of {NAMES:?}");
    };
    let client = client(&seeds).await;
    let mut work_of_all = JoinSet::new();
    work_of_all.spawn(work(client));

    let page = NAMES.iter().position(|name| *name == shown).unwrap();
    let browser = Browser::open(&format!("{}/", pages[page])).await;
    shows_all(&browser, shown, &leader, victim).await;
    assert_eq!(browser.complaints().await, [""; 0]);
    browser.picture("peer").await;

    // Whoever is asked for has an owner, as long as there are nodes.
    let owned = "document.querySelectorAll('#map .cell.owned').length";
    let before = browser.count(owned).await;
    peers.retain(|peer| peer.name != victim);
    let dead = is_text(&format!("[data-node='{victim}'] .state"), "dead");
    browser.until("a peer that is dead", &dead).await;
    let elsewhere = format!(
        "document.querySelectorAll('[data-key={victim}] .cell').length === 0 && {owned} === {before}"
    );
    browser.until("its shards elsewhere", &elsewhere).await;
    browser.picture("peer-alone").await;
    browser.close().await;
}

async fn shows_all(browser: &Browser, shown: &str, leader: &str, other: &str) {
    let served = format!(
        "document.querySelector('#facts').textContent.startsWith('served by {shown}, {leader} leads')"
    );
    browser.until("who serves it, and who leads", &served).await;
    let part = |node: &str, part: &str| is_text(&format!("[data-node='{node}'] th small"), part);
    browser.until("who leads", &part(leader, "leads")).await;
    browser.until("who votes", &part(other, "votes")).await;
    for node in [shown, leader, other] {
        let active = is_text(&format!("[data-node='{node}'] .state"), "active");
        browser.until("a node", &active).await;
        let owns =
            format!("document.querySelectorAll('[data-key={node}] .cell.owned').length >= 40");
        browser.until("its shards", &owns).await;
        let rate = format!("parseFloat({}) > 0", figure(node, "Messages/s"));
        browser.until("its load", &rate).await;
    }
    for node in [leader, other] {
        let phi = format!("/^[0-9]+[.][0-9]$/.test({})", figure(node, "Phi"));
        browser.until("what gossip thinks of it", &phi).await;
    }
    let hot = "document.querySelectorAll('#hot-shards li').length > 0";
    browser.until("the busiest shards", hot).await;
}

/// The text below a heading in the row of a node, in JavaScript.
fn figure(node: &str, heading: &str) -> String {
    let headings = "[...document.querySelectorAll('#nodes thead th')]";
    format!(
        "document.querySelector(\"[data-node='{node}']\").cells\
         [{headings}.findIndex((th) => th.textContent.trim() === '{heading}')].textContent"
    )
}
