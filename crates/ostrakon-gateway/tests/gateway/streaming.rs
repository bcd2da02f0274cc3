//! Streams as server-sent events.

use std::{sync::atomic::Ordering, time::Duration};

use ostrakon_gateway::GatewaySettings;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::Child,
    time::timeout,
};

use crate::house::{House, Reply, SOON, TOKEN, finished};

#[tokio::test]
async fn items_come_one_by_one_and_then_the_end() {
    let house = House::new().await;
    for amount in [3, 4] {
        let body = format!(r#"{{"amount": {amount}}}"#);
        house.call("account/alice/deposit", &body).await.value();
    }
    let reply = house.call("account/alice/history", r#"{"from": 0}"#).await;
    assert_eq!(reply.status, 200);
    assert!(
        reply.head.contains("content-type: text/event-stream"),
        "{}",
        reply.head
    );
    assert_eq!(
        reply.body,
        "data: 3\n\ndata: 4\n\nevent: end\ndata: null\n\n"
    );
    let none = house.call("account/alice/history", r#"{"from": 9}"#).await;
    assert_eq!(none.body, "event: end\ndata: null\n\n");
}

#[tokio::test]
async fn an_item_is_there_before_the_next_one_is() {
    let house = House::new().await;
    let mut call = house.calling("trouble/t/forever", "", &[]);
    assert_eq!(first_item(&mut call).await, "data: 1");
}

#[tokio::test]
async fn a_caller_that_goes_away_ends_the_stream() {
    let house = House::with(GatewaySettings {
        streams: 1,
        ..GatewaySettings::default()
    })
    .await;
    let mut call = house.calling("trouble/t/forever", "", &[]);
    first_item(&mut call).await;
    let another = house.call("trouble/u/forever", "").await;
    let text = another.problem(503, "not_executed", "safe");
    assert!(text.contains("too many streams"), "{text}");
    call.kill().await.unwrap();
    timeout(SOON, house.hands.dropped.notified()).await.unwrap();
    let again = async {
        loop {
            let mut call = house.calling("trouble/u/forever", "", &["--fail"]);
            if !first_item(&mut call).await.is_empty() {
                return;
            }
        }
    };
    timeout(SOON, again).await.expect("its place is free again");
}

#[tokio::test]
async fn a_stream_that_cannot_go_on_says_so() {
    let house = House::new().await;
    let mut call = house.calling("trouble/t/forever", "", &[]);
    first_item(&mut call).await;
    house.node.leave().await.unwrap();
    let mut rest = String::new();
    let mut output = call.stdout.take().unwrap();
    timeout(SOON, output.read_to_string(&mut rest))
        .await
        .unwrap()
        .unwrap();
    let (event, data) = rest.trim().split_once('\n').unwrap();
    assert_eq!(event, "event: failed");
    let problem: serde_json::Value =
        serde_json::from_str(data.trim_start_matches("data: ")).unwrap();
    assert_eq!(problem["outcome"], "failed", "{problem}");
}

#[tokio::test]
async fn a_stream_that_cannot_begin_is_an_ordinary_problem() {
    let house = House::new().await;
    let reply = house.call("trouble/broken/forever", "").await;
    assert!(reply.problem(503, "not_executed", "safe").contains("disk"));
    house.call("trouble/t/forever?tell", "").await.refused(400);
}

/// What the connection and the system hold back is far less than this.
const ITEMS: u64 = 4096;
const LENGTH: usize = 16 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_slows_the_stream_down() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.address()).await.unwrap();
    let body = format!(r#"{{"number": {ITEMS}, "length": {LENGTH}}}"#);
    let request = format!(
        "POST /v1/entities/trouble/t/texts HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let stood_at = timeout(SOON, standstill(&house)).await.unwrap();
    assert!(
        0 < stood_at && stood_at < ITEMS,
        "{stood_at} items were made for nobody"
    );
    println!("{stood_at} of {ITEMS} items of {LENGTH} bytes were made before somebody read");

    let mut all = Vec::new();
    timeout(SOON, stream.read_to_end(&mut all))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        house.hands.taken.load(Ordering::Relaxed),
        ITEMS,
        "then it goes on to the end"
    );
    assert!(all.len() > ITEMS as usize * LENGTH);
}

/// Waits until no more items are taken; returns how many were.
async fn standstill(house: &House) -> u64 {
    let mut before = 0;
    loop {
        // That nothing happens can only be seen by waiting.
        tokio::time::sleep(Duration::from_millis(300)).await;
        match house.hands.taken.load(Ordering::Relaxed) {
            now if now > 0 && now == before => return now,
            now => before = now,
        }
    }
}

#[tokio::test]
async fn an_item_of_any_text_is_one_event() {
    let house = House::new().await;
    let reply: Reply =
        finished(house.calling("trouble/t/texts", r#"{"number":2,"length":3}"#, &[])).await;
    assert_eq!(
        reply.body,
        "data: \"xxx\"\n\ndata: \"xxx\"\n\nevent: end\ndata: null\n\n"
    );
}

/// The first item of a stream; empty if there is none.
async fn first_item(call: &mut Child) -> String {
    let output = call.stdout.as_mut().unwrap();
    let mut lines = BufReader::with_capacity(1, output).lines();
    let reading = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.starts_with("data: ") {
                // The empty line behind it.
                lines.next_line().await.unwrap();
                return line;
            }
        }
        String::new()
    };
    timeout(SOON, reading).await.unwrap()
}
