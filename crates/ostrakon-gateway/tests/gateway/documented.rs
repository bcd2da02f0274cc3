//! The lines of `docs/gateway.md`, as they stand there.

use ostrakon::Node;
use ostrakon_gateway::Gateway;
use serde_json::Value;
use tokio::{process::Command, time::timeout};

use crate::{
    account::Account,
    house::{SOON, TOKEN, token},
};

const PAGE: &str = include_str!("../../../../docs/gateway.md");

/// Every command of the page, with what it shall print.
fn lines() -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for block in PAGE.split("```sh\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        for line in block.lines() {
            match line.strip_prefix('#') {
                None => lines.push((line, String::new())),
                Some(printed) => {
                    let (_, expected) = lines.last_mut().unwrap();
                    *expected += printed.strip_prefix(' ').unwrap_or(printed);
                    expected.push('\n');
                }
            }
        }
    }
    lines
}

#[tokio::test]
async fn every_command_of_the_page_prints_what_is_written_below_it() {
    let node = Node::builder("node-1")
        .host::<Account>()
        .start()
        .await
        .unwrap();
    let gateway = Gateway::builder(node, token())
        .expose::<Account>()
        .serve("127.0.0.1:0")
        .await
        .unwrap();
    let lines = lines();
    assert!(lines.len() >= 10, "{lines:?}");
    for (command, expected) in lines {
        let run = Command::new("sh")
            .args(["-c", command])
            .env("GATEWAY", format!("http://{}", gateway.address()))
            .env("TOKEN", TOKEN)
            .kill_on_drop(true)
            .output();
        let output = timeout(SOON, run).await.unwrap().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(meaning(&printed), meaning(&expected), "{command}");
    }
}

/// In which order an object has its fields means nothing.
fn meaning(text: &str) -> Value {
    let text = text.trim_end();
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
