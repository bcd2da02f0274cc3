//! What has happened, and what happens.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
};

use crate::house::{House, manager_settings, read_reply, request, with_token, written_log};

/// Somebody who follows events.
struct Follower {
    lines: Lines<BufReader<TcpStream>>,
}

impl Follower {
    async fn of(house: &House, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = TcpStream::connect(house.address()).await.unwrap();
        stream
            .write_all(request("GET", path, headers, "").as_bytes())
            .await
            .unwrap();
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert_eq!(status, "HTTP/1.1 200 OK");
        Self { lines }
    }

    async fn line(&mut self, prefix: &str) -> String {
        let reading = async {
            loop {
                let line = self
                    .lines
                    .next_line()
                    .await
                    .unwrap()
                    .expect("the stream goes on");
                if let Some(rest) = line.strip_prefix(prefix) {
                    return rest.trim().to_owned();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .expect("news in time")
    }

    /// The next event and its id.
    async fn event(&mut self) -> (String, Value) {
        let id = self.line("id:").await;
        let data = self.line("data:").await;
        (id, serde_json::from_str(&data).unwrap())
    }
}

#[tokio::test]
async fn events_are_read_page_by_page() {
    let house = House::with_two_nodes().await;
    let first = house.get("/v1/events?limit=3").await.json();
    assert_eq!(first["events"].as_array().unwrap().len(), 3);
    assert_eq!(first["events"][0]["event"], "leads");
    assert_eq!(first["oldest"], 0);
    assert_eq!(first["next"], 3);
    let second = house.get("/v1/events?since=3&limit=1").await.json();
    assert_eq!(second["events"][0]["event"], "joined");
    assert_eq!(second["events"][0]["node"], "node-1");
    let none = house.get("/v1/events?since=1000000").await.json();
    assert_eq!(none["events"].as_array().unwrap().len(), 0);
    for bad in ["limit=0", "limit=1001", "limit=x", "since=-1", "sinc=1"] {
        house.get(&format!("/v1/events?{bad}")).await.problem(400);
    }
}

#[tokio::test]
async fn a_stream_tells_what_happens_from_now_on_and_resumes_behind_an_event() {
    let house = House::with_two_nodes().await;
    let mut all = Follower::of(&house, "/v1/events/stream?since=0", &[]).await;
    assert_eq!(all.event().await.1["event"], "leads");
    let (id, second) = all.event().await;
    assert_eq!(second["number"], 1);
    let mut resumed = Follower::of(&house, "/v1/events/stream", &[("Last-Event-ID", &id)]).await;
    assert_eq!(resumed.event().await.1["number"], 2);

    let mut coming = Follower::of(&house, "/v1/events/stream", &[]).await;
    assert_eq!(house.post("/v1/nodes/node-2/drain", "").await.status, 202);
    loop {
        let (_, event) = coming.event().await;
        if event["event"] == "leaving" {
            assert_eq!(event["node"], "node-2");
            break;
        }
    }
}

#[tokio::test]
async fn a_stream_resumes_with_another_manager_behind_the_same_entry_of_the_log() {
    let storage = written_log().await;
    let house = House::over(storage.clone(), manager_settings(), with_token()).await;
    let mut all = Follower::of(&house, "/v1/events/stream?since=0", &[]).await;
    let (mut id, mut event) = all.event().await;
    while event["event"] != "joined" {
        (id, event) = all.event().await;
    }
    assert_eq!(event["index"], 4);
    let other = ostrakon_manager::ManagerSettings {
        name: "other".to_owned(),
        patience: Duration::from_secs(3600),
        ..manager_settings()
    };
    let other = House::standing_by(storage, other, with_token()).await;
    other
        .until("it has read", |view| view.state().members().len() == 2)
        .await;
    let mut resumed = Follower::of(&other, "/v1/events/stream", &[("Last-Event-ID", &id)]).await;
    assert_eq!(resumed.event().await.1["index"], 5);
}

#[tokio::test]
async fn an_id_of_another_stream_is_refused() {
    let house = House::with_two_nodes().await;
    let request = request("GET", "/v1/events/stream", &[("Last-Event-ID", "17")], "");
    assert!(
        house
            .send(&request)
            .await
            .problem(400)
            .contains("Last-Event-ID")
    );
}

#[tokio::test]
async fn only_so_many_may_follow_at_once() {
    let one = ostrakon_admin::AdminSettings {
        streams: 1,
        ..with_token()
    };
    let house = House::with(one).await;
    let first = Follower::of(&house, "/v1/events/stream", &[]).await;
    let request = request("GET", "/v1/events/stream", &[], "");
    assert!(house.send(&request).await.problem(503).contains("streams"));
    drop(first);
    // The server notices when it next has something to say.
    assert_eq!(house.post("/v1/nodes/node-2/drain", "").await.status, 202);
    let again = async {
        loop {
            let mut stream = TcpStream::connect(house.address()).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut status = [0; 12];
            stream.read_exact(&mut status).await.unwrap();
            if status.ends_with(b"200") {
                return;
            }
            read_to_end(stream).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), again)
        .await
        .expect("a place is free again");
}

async fn read_to_end(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}

#[tokio::test]
async fn a_stream_ends_when_the_manager_stops() {
    let house = House::with_two_nodes().await;
    let mut stream = TcpStream::connect(house.address()).await.unwrap();
    stream
        .write_all(request("GET", "/v1/events/stream?since=0", &[], "").as_bytes())
        .await
        .unwrap();
    let mut begin = [0; 15];
    stream.read_exact(&mut begin).await.unwrap();
    house.manager.stop().await;
    let mut rest = tokio::io::AsyncReadExt::chain(&begin[..], stream);
    let reply = read_reply(&mut rest).await;
    assert_eq!(reply.status, 200);
    assert!(reply.body.contains("event\":\"leads"), "{reply:?}");
}
