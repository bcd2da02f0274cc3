//! Asks and tells that go well.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use crate::house::{House, SOON, curl, finished};

#[tokio::test]
async fn an_ask_brings_the_answer_and_a_tell_does_not_wait_for_it() {
    let house = House::new().await;
    let reply = house
        .call("account/alice/deposit", r#"{"amount": 100}"#)
        .await;
    assert_eq!(reply.value(), json!(100));
    assert!(reply.head.contains("cache-control: no-store"));
    let told = house
        .call("account/alice/deposit?tell", r#"{"amount": 5}"#)
        .await;
    assert_eq!((told.status, told.body.as_str()), (202, ""));
    assert_eq!(
        house.call("account/alice/balance", "").await.value(),
        json!(105)
    );
    assert_eq!(
        house.call("account/bob/balance", "{}").await.value(),
        json!(0)
    );
    assert_eq!(
        house
            .call("trouble/t/note", r#"{"text":"x"}"#)
            .await
            .value(),
        json!(null)
    );
}

#[tokio::test]
async fn the_entity_s_own_error_comes_back_whole() {
    let house = House::new().await;
    let reply = house
        .call("account/alice/withdraw", r#"{"amount": 1}"#)
        .await;
    let text = reply.problem(422, "executed", "no");
    assert!(text.starts_with("only 0 there |"), "{text}");
    assert_eq!(reply.json()["rejection"], json!({"balance": 0}));
    let told = house
        .call("account/alice/withdraw?tell", r#"{"amount": 1}"#)
        .await;
    assert_eq!(told.status, 202, "whoever tells hears nothing of it");
}

#[tokio::test]
async fn ids_are_any_text() {
    let house = House::new().await;
    let longest = "x".repeat(1024);
    for (written, id) in [
        ("caf%C3%A9", "café"),
        ("café", "café"),
        ("a%2Fb", "a/b"),
        ("a%20b+c", "a b+c"),
        ("..", ".."),
        ("%2e%2e%2f%2e%2e%2fetc%2fpasswd", "../../etc/passwd"),
        ("%00%0d%0a", "\0\r\n"),
        ("%F0%9F%8E%B2", "🎲"),
        (&longest, &longest),
    ] {
        let reply = house.call(&format!("trouble/{written}/name"), "").await;
        assert_eq!(reply.value(), json!(id));
    }
}

#[tokio::test]
async fn arguments_are_read_by_their_own_types() {
    let house = House::new().await;
    let most = u128::MAX.to_string();
    let reply = house
        .call("trouble/t/exact", &format!(r#"{{"number": {most}}}"#))
        .await;
    assert_eq!(reply.body, most, "no digit is lost");
    let all = house
        .call("trouble/t/match", r#"{"caller": 2, "type": 1}"#)
        .await;
    assert_eq!(all.value(), json!([1, 2]));
    let some = house.call("trouble/t/match", r#"{"type": 1}"#).await;
    assert_eq!(some.value(), json!([1, null]), "an option may be left out");
    let any = json!({"value": {"a": [1, "ü", null, 1.5]}});
    assert_eq!(
        house.call("trouble/t/echo", &any.to_string()).await.value(),
        any["value"]
    );
}

#[tokio::test]
async fn a_trace_goes_through() {
    let house = House::new().await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let header = format!("traceparent: {trace}");
    let reply = house
        .call_with("trouble/t/trace", "", &["-H", &header])
        .await;
    assert_eq!(reply.value(), json!(trace));
    let reply = house
        .call_with("trouble/t/trace", "", &["-H", "traceparent: 00-xyz"])
        .await;
    assert_eq!(reply.value(), json!(null), "what is no trace is none");
    assert_eq!(house.call("trouble/t/trace", "").await.value(), json!(null));
}

#[tokio::test]
async fn several_calls_go_over_one_connection() {
    let house = House::new().await;
    let url = house.url("/v1/entities/account/alice/deposit");
    let one = [
        "-X",
        "POST",
        "-d",
        r#"{"amount": 1}"#,
        "-w",
        "\n%{num_connects}\n",
        "-o",
        "/dev/null",
    ];
    let authorization = format!("Authorization: Bearer {}", crate::house::TOKEN);
    let next = [&["--next", "-sS", "-H", &authorization][..], &one, &[&url]].concat();
    let arguments = [&one[..], &[&url], &next, &next].concat();
    let output = timeout(SOON, curl(&arguments).wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let connections = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        connections.split_whitespace().collect::<Vec<_>>(),
        ["1", "0", "0"]
    );
}

#[tokio::test]
async fn a_call_that_is_under_way_when_the_gateway_stops_is_finished() {
    let house = House::new().await;
    let call = house.calling("trouble/t/hold", "", &[]);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    let address = house.address();
    let House {
        gateway,
        hands,
        node,
    } = house;
    let stopping = tokio::spawn(gateway.stop());
    // It does not take anybody else in.
    let refused = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
    timeout(SOON, refused).await.unwrap();
    hands.release.notify_one();
    assert_eq!(finished(call).await.value(), json!("released"));
    timeout(SOON, stopping).await.unwrap().unwrap();
    node.leave().await.unwrap();
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let settings = ostrakon_gateway::GatewaySettings {
        stop_within: Duration::from_millis(100),
        ..Default::default()
    };
    let house = House::with(settings).await;
    let mut call = house.calling("trouble/t/hold", "", &[]);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    timeout(SOON, house.gateway.stop()).await.unwrap();
    assert!(!timeout(SOON, call.wait()).await.unwrap().unwrap().success());
}
