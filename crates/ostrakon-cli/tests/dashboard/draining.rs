//! Operators: who may change something, and a node that is drained while somebody watches.
//!
//! The nodes live in this process, so that the test decides how long entities take to stop: what moves, moves until it is told to go on.

use std::{fs, sync::Arc, time::Duration};

use ostrakon::{Hosting, Managed, Node, entity};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    browser::{Browser, is_text},
    folder::Folder,
    server::Server,
};

/// So many entities are active.
const ACCOUNTS: usize = 60;

/// So long a deposit is waited for.
const BRIEFLY: Duration = Duration::from_millis(20);

/// Stops when it may.
struct Account {
    balance: u64,
    may_stop: Arc<Semaphore>,
}

#[entity(kind = "account")]
impl Account {
    async fn deposit(&mut self, amount: u64) -> u64 {
        self.balance += amount;
        self.balance
    }

    #[stop]
    async fn wait(&mut self) {
        let _ = self.may_stop.acquire().await;
    }
}

async fn start(server: &Server, name: &str, may_stop: &Arc<Semaphore>) -> Node {
    let may_stop = Arc::clone(may_stop);
    let account = move |_: &_| Account {
        balance: 0,
        may_stop: Arc::clone(&may_stop),
    };
    let patient = Hosting::default().stop_deadline(Duration::from_secs(60));
    let managed = Managed::from(server.nodes.as_str()).version("1.4.0");
    let node = Node::builder(name).managed(managed);
    node.host_with(patient, account).start().await.unwrap()
}

/// Deposits without end, to some more often than to others.
async fn work(node: Node, first: usize) {
    for round in (first..).step_by(7) {
        let id = if round % 3 == 0 {
            round % 5
        } else {
            round % ACCOUNTS
        };
        let account = node.entity::<Account>(format!("customer-{id}"));
        // What becomes of a deposit while its shard moves is not what is looked at here.
        let _ = tokio::time::timeout(BRIEFLY, account.deposit(1)).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_needs_the_token_and_a_second_word_and_is_seen_until_the_node_is_empty() {
    let folder = Folder::new();
    let server = Server::start(&folder, "--failover lease");
    let may_stop = Arc::new(Semaphore::new(0));
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2", "node-3"] {
        nodes.push(start(&server, name, &may_stop).await);
    }
    let browser = Browser::open(&server.url()).await;
    let settled = "document.querySelectorAll('#map .cell.owned').length === 300 \
                   && document.querySelectorAll('[data-key=node-3] .cell').length === 100";
    browser.until("all shards", settled).await;
    let mut work_of_all = JoinSet::new();
    for first in 0..8 {
        work_of_all.spawn(work(nodes[first % 2].clone(), first));
    }
    refuses_a_bad_token(&browser).await;
    explains(&browser).await;

    let token = fs::read_to_string(folder.0.join("token")).unwrap();
    browser.type_into("#token", &token).await;
    browser.click("#operate button").await;
    let dry = "document.querySelector('#outcome').textContent.includes('A round of balancing would move')";
    browser.until("what a round would do", dry).await;

    drains(&browser).await;
    pictures(&browser).await;
    may_stop.close();
    let empty = "document.querySelectorAll('[data-key=node-3] .cell').length === 0 \
                 && document.querySelectorAll('#map .cell.owned').length === 300";
    browser.until("its shards elsewhere", empty).await;
    nodes.pop().unwrap().leave().await.unwrap();
    let left = is_text("[data-node='node-3'] .state", "left");
    browser.until("the node that went", &left).await;
    let kept =
        browser.count("Object.keys(localStorage).filter((key) => key !== 'ostrakon-theme').length");
    assert_eq!(kept.await, 0, "the token is kept nowhere");
    browser.close().await;
}

async fn refuses_a_bad_token(browser: &Browser) {
    browser.type_into("#token", "certainly-not-the-token").await;
    browser.click("#operate button").await;
    let refused = is_text("#outcome .problem strong", "this is not the admin token");
    browser.until("the server's words", &refused).await;
    browser.click("[aria-label='Drain node-3']").await;
    browser.click("#drain-go").await;
    let refused = is_text("#drain-problem strong", "this is not the admin token");
    browser
        .until("the server's words in the dialog", &refused)
        .await;
    browser.press("\u{e00c}").await; // Escape
    browser
        .until("no dialog", "!document.querySelector('#drain').open")
        .await;
    let complaints = browser.complaints().await;
    let expected = |complaint: &String| complaint.contains("401");
    assert!(complaints.iter().all(expected), "{complaints:?}");
}

async fn explains(browser: &Browser) {
    browser.type_into("#explain input", "customer-1").await;
    browser.press("\u{e007}").await; // Enter
    let explained = "document.querySelector('#explanation dl')?.textContent.includes('customer-1')";
    browser.until("where it is", explained).await;
    let answer = browser.text("#explanation").await;
    assert!(
        answer.contains("default/") && answer.contains("node-"),
        "{answer}"
    );
    browser
        .until(
            "where that is on the map",
            "document.querySelector('.cell.found')",
        )
        .await;
}

/// With the keyboard alone.
async fn drains(browser: &Browser) {
    let focus = "(document.querySelector(\"[aria-label='Drain node-3']\").focus(), 1)";
    browser.count(focus).await;
    browser.press("\u{e007}").await;
    let asked = browser.text("#drain").await;
    assert!(
        asked.contains("Drain node-3?") && asked.contains("It gives its"),
        "{asked}"
    );
    assert_eq!(
        browser
            .count("document.querySelectorAll('.cell.moving').length")
            .await,
        0
    );
    browser.press("\u{e004}").await; // Tab, from Cancel
    browser.press("\u{e007}").await;
    browser
        .until(
            "a node that goes",
            &is_text("[data-node='node-3'] .state", "draining"),
        )
        .await;
    let moving = "document.querySelectorAll('[data-key=node-3] .cell.moving').length > 3 \
                  && document.querySelectorAll('[data-key=node-3] .cell.owned').length === 0 \
                  && document.querySelectorAll('.links path').length > 0";
    browser.until("shards that move", moving).await;
}

async fn pictures(browser: &Browser) {
    let load = "document.querySelectorAll('#hot-shards li').length > 5 \
                && parseFloat(document.querySelector('#rate-now').textContent) > 0 \
                && !document.querySelector('.travels')";
    browser.until("load", load).await;
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.picture("dashboard-light").await;
    browser.prefer("dark").await;
    browser
        .until(
            "the dark the system wants",
            &format!("{ground} === 'rgb(15, 18, 22)'"),
        )
        .await;
    browser.picture("dashboard-dark").await;
    browser.click("#theme").await;
    browser
        .until(
            "the light that was chosen",
            &format!("{ground} === 'rgb(244, 245, 247)'"),
        )
        .await;
}
