//! What happens shows by itself: nodes that come, a node that is killed, a manager that is away for a while.

use crate::{
    browser::{Browser, is_text},
    folder::Folder,
    server::{Process, Server},
};

fn state_of(node: &str, state: &str) -> String {
    is_text(&format!("[data-node='{node}'] .state"), state)
}

#[tokio::test]
async fn the_page_follows_what_happens_and_comes_back_when_the_manager_does() {
    let folder = Folder::new();
    let server = Server::start(&folder, "--failover proof");
    let _first = Process::node(&folder, &server, "node-1");
    let browser = Browser::open(&server.url()).await;
    let all = "document.querySelectorAll('#map .cell').length === 300";
    browser.until("all shards", all).await;
    assert_eq!(browser.complaints().await, [""; 0]);

    let second = Process::node(&folder, &server, "node-2");
    browser
        .until("a node that joins", &state_of("node-2", "active"))
        .await;
    let joined =
        "document.querySelector('#events').textContent.includes('node-2 joined, version 1.4.0')";
    browser.until("the event of it", joined).await;
    let spread = "document.querySelectorAll('[data-key=node-2] .cell').length >= 100";
    browser.until("shards that go there", spread).await;

    drop(second);
    browser
        .until("a node that is dead", &state_of("node-2", "dead"))
        .await;
    let told = "document.querySelector('#events').textContent.includes('its process is gone')";
    browser.until("the reason", told).await;
    let back = "document.querySelectorAll('[data-key=node-1] .cell.owned').length === 300";
    browser.until("its shards elsewhere", back).await;

    let lost = is_text("#connection", "connection lost, trying again");
    let _server = server
        .replace(&folder, browser.until("a lost connection", &lost))
        .await;
    browser
        .until("the connection again", &is_text("#connection", "live"))
        .await;
    browser
        .until("the node again", &state_of("node-1", "active"))
        .await;
    browser.until("its shards again", back).await;
    browser.close().await;
}
