//! Bad input, and callers that want too much.

use std::time::{Duration, Instant};

use ostrakon_admin::{Admin, AdminError, AdminSettings};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::house::{House, TOKEN, read_reply, request, with_token};

const CHANGES: [&str; 6] = [
    "/v1/nodes/node-1/drain",
    "/v1/nodes/node-1/confirm-dead",
    "/v1/rebalance",
    "/v1/rebalance?dry_run=true",
    "/v1/rebalancing/freeze",
    "/v1/rebalancing/unfreeze",
];

#[tokio::test]
async fn whoever_changes_something_needs_the_token() {
    let house = House::with_two_nodes().await;
    let before = house.manager.desk().view().state().clone();
    let short = TOKEN.trim_end_matches('n');
    for path in CHANGES {
        let wrong = [
            vec![],
            vec![("Authorization", "Bearer".to_owned())],
            vec![("Authorization", "Bearer ".to_owned())],
            vec![("Authorization", format!("Bearer {short}"))],
            vec![("Authorization", format!("Bearer {TOKEN}x"))],
            vec![("Authorization", format!("Basic {TOKEN}"))],
            vec![("Authorization", TOKEN.to_owned())],
        ];
        for headers in wrong {
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let reply = house.post_as(path, r#"{"word":"x"}"#, &headers).await;
            assert!(
                reply.problem(401).contains("OSTRAKON_ADMIN_TOKEN"),
                "{path}"
            );
            assert!(reply.head.contains("www-authenticate: bearer"), "{reply:?}");
            assert!(!reply.body.contains(TOKEN));
        }
    }
    assert_eq!(
        house.manager.desk().view().state().policy(),
        before.policy()
    );
    assert_eq!(
        house.manager.desk().view().state().members().len(),
        before.members().len()
    );
}

#[tokio::test]
async fn without_a_token_nobody_changes_anything_and_is_told_how_to_set_one() {
    let house = House::with(AdminSettings::default()).await;
    for path in CHANGES {
        let reply = house.post(path, "").await;
        assert!(reply.problem(403).contains("--admin-token-file"), "{path}");
    }
    assert_eq!(
        house.get("/v1/status").await.status,
        200,
        "but everybody may look"
    );
    assert!(house.get("/metrics").await.problem(404).contains("metrics"));
}

#[tokio::test]
async fn a_word_that_says_nothing_is_refused() {
    let house = House::with_two_nodes().await;
    let long = format!(r#"{{"word":"{}"}}"#, "x".repeat(1001));
    for body in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"word":7}"#,
        r#"{"word":" "}"#,
        r#"{"word":"x","more":1}"#,
        &long,
    ] {
        let reply = house.post("/v1/nodes/node-1/confirm-dead", body).await;
        assert!(reply.problem(400).contains("dead"), "{body}: {reply:?}");
    }
}

#[tokio::test]
async fn a_huge_body_is_not_read() {
    let house = House::with_two_nodes().await;
    let huge = format!(r#"{{"word":"{}"}}"#, "x".repeat(70_000));
    let reply = house.post("/v1/nodes/node-1/confirm-dead", &huge).await;
    reply.problem(413);
    // One who only claims to send a terabyte is answered without it.
    let mut stream = TcpStream::connect(house.address()).await.unwrap();
    let claim = format!(
        "POST /v1/nodes/node-1/confirm-dead HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1000000000000\r\n\r\n"
    );
    stream.write_all(claim.as_bytes()).await.unwrap();
    assert_eq!(read_reply(&mut stream).await.status, 413);
}

#[tokio::test]
async fn a_huge_head_is_not_read() {
    let house = House::with_two_nodes().await;
    let name = "x".repeat(40_000);
    let reply = house
        .send(&request("GET", "/v1/status", &[("X", &name)], ""))
        .await;
    assert_eq!(reply.status, 431, "{reply:?}");
}

#[tokio::test]
async fn what_is_not_there_is_said_in_json() {
    let house = House::with_two_nodes().await;
    for path in ["/v1", "/v1/nothing", "/v1/nodes/", "/v2/status"] {
        assert!(
            house.get(path).await.problem(404).contains("openapi.json"),
            "{path}"
        );
    }
    let reply = house
        .send(&request("DELETE", "/v1/nodes/node-1", &[], ""))
        .await;
    assert!(reply.problem(405).contains("DELETE"));
    let reply = house.send(&request("GET", "/v1/rebalance", &[], "")).await;
    reply.problem(405);
    house.get("/v1/nodes/a%2Fb").await.problem(400);
    house
        .post("/v1/rebalance?dry_run=perhaps", "")
        .await
        .problem(400);
}

#[tokio::test]
async fn no_other_site_is_let_in() {
    let house = House::with_two_nodes().await;
    let headers = [
        ("Origin", "https://elsewhere.example"),
        ("Access-Control-Request-Method", "POST"),
    ];
    for (method, path) in [("GET", "/v1/status"), ("OPTIONS", "/v1/rebalance")] {
        let reply = house.send(&request(method, path, &headers, "")).await;
        assert!(!reply.head.contains("access-control"), "{reply:?}");
        assert!(reply.head.contains("nosniff"), "{reply:?}");
    }
}

#[tokio::test]
async fn a_caller_that_sends_its_request_drop_by_drop_is_left() {
    let brisk = AdminSettings {
        head_within: Duration::from_millis(300),
        answer_within: Duration::from_millis(300),
        ..with_token()
    };
    let house = House::with(brisk).await;
    let began = Instant::now();
    let mut head = TcpStream::connect(house.address()).await.unwrap();
    head.write_all(b"GET /v1/status HTTP/1.1\r\nX-Slow: ")
        .await
        .unwrap();
    let mut body = TcpStream::connect(house.address()).await.unwrap();
    let half = format!(
        "POST /v1/nodes/node-1/confirm-dead HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\n{{"
    );
    body.write_all(half.as_bytes()).await.unwrap();
    let mut silent = TcpStream::connect(house.address()).await.unwrap();

    let mut rest = Vec::new();
    for stream in [&mut head, &mut silent] {
        let ended =
            tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "it is still waited for");
    }
    let reply = read_reply(&mut body).await;
    assert_eq!(reply.status, 504, "{reply:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn callers_beyond_the_places_wait_until_others_are_left() {
    let one = AdminSettings {
        connections: 1,
        head_within: Duration::from_millis(300),
        ..with_token()
    };
    let house = House::with(one).await;
    let _idle = TcpStream::connect(house.address()).await.unwrap();
    assert_eq!(house.get("/v1/status").await.status, 200);
}

#[tokio::test]
async fn requests_beyond_the_places_are_told_so() {
    let none = AdminSettings {
        requests: 0,
        ..with_token()
    };
    let house = House::with(none).await;
    assert!(
        house
            .get("/v1/status")
            .await
            .problem(503)
            .contains("too many requests")
    );
}

#[tokio::test]
async fn plain_text_is_not_served_to_the_network() {
    let house = House::with_two_nodes().await;
    let everywhere = AdminSettings {
        listen: "0.0.0.0:0".to_owned(),
        ..with_token()
    };
    let refused = Admin::start(house.manager.desk().clone(), everywhere).await;
    assert!(matches!(refused, Err(AdminError::Unfit(_))));
    let taken = AdminSettings {
        listen: house.address().to_string(),
        ..with_token()
    };
    let refused = Admin::start(house.manager.desk().clone(), taken).await;
    assert!(matches!(refused, Err(AdminError::Listen { .. })));
}
