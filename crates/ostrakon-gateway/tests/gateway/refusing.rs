//! Bad input.

use std::time::Duration;

use ostrakon_gateway::GatewaySettings;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::house::{House, SOON, TOKEN, curl, finished};

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    let house = House::new().await;
    for body in [
        "{",
        "[1]",
        "5",
        "null",
        r#""amount""#,
        "amount=5",
        "{\"amount\":5}}",
        "{\"amount\":5",
        "\u{feff}{}",
        r#"{"amount":5,"amount":6}"#,
    ] {
        let text = house.call("account/alice/deposit", body).await.refused(400);
        assert!(text.contains("takes: amount"), "{body}: {text}");
    }
    assert_eq!(
        house.call("account/alice/balance", "").await.value(),
        json!(0)
    );
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let house = House::new().await;
    for (body, named) in [
        ("", "`amount` is missing"),
        ("{}", "`amount` is missing"),
        (r#"{"amuont": 5}"#, "no argument `amuont`"),
        (r#"{"amount": 5, "more": 1}"#, "no argument `more`"),
        (r#"{"amount": 5, "reply": 1}"#, "no argument `reply`"),
        (
            r#"{"amount": "5"}"#,
            "`amount` does not fit: invalid type: string",
        ),
        (r#"{"amount": null}"#, "`amount` does not fit"),
        (r#"{"amount": 1.5}"#, "`amount` does not fit"),
        (
            r#"{"amount": 99999999999999999999}"#,
            "`amount` does not fit",
        ),
    ] {
        let text = house.call("account/alice/deposit", body).await.refused(400);
        assert!(text.contains(named), "{body}: {text}");
        assert!(text.ends_with("`deposit` takes: amount"), "{body}: {text}");
        // A tell is checked in the same way.
        house
            .call("account/alice/deposit?tell", body)
            .await
            .refused(400);
    }
    let text = house
        .call("account/alice/balance", r#"{"of": 1}"#)
        .await
        .refused(400);
    assert!(text.contains("`balance` takes no arguments"), "{text}");
}

#[tokio::test]
async fn deep_json_is_refused_and_nobody_falls() {
    let house = House::new().await;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        for depth in [200, 100_000] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let reply =
                from_file(&house, "trouble/t/echo", &format!(r#"{{"value": {deep}}}"#)).await;
            let text = reply.refused(400);
            assert!(text.contains("recursion limit"), "{text}");
            from_file(&house, "trouble/t/echo", &deep)
                .await
                .refused(400);
        }
    }
    assert_eq!(
        house
            .call("trouble/t/echo", r#"{"value": [[1]]}"#)
            .await
            .value(),
        json!([[1]])
    );
}

/// Sends a body that is too long for a command line.
async fn from_file(house: &House, path: &str, body: &str) -> crate::house::Reply {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "gateway-body-{}-{}",
        std::process::id(),
        body.len()
    ));
    std::fs::write(&file, body).unwrap();
    let reply = house.call(path, &format!("@{}", file.display())).await;
    std::fs::remove_file(&file).unwrap();
    reply
}

#[tokio::test]
async fn a_huge_body_is_not_read() {
    let house = House::with(GatewaySettings {
        body: 1000,
        ..GatewaySettings::default()
    })
    .await;
    let fits = format!(r#"{{"value": "{}"}}"#, "x".repeat(900));
    house.call("trouble/t/echo", &fits).await.value();
    let huge = format!(r#"{{"value": "{}"}}"#, "x".repeat(3000));
    let text = house.call("trouble/t/echo", &huge).await.refused(413);
    assert!(text.contains("1000 bytes"), "{text}");
    let chunked = ["-H", "Transfer-Encoding: chunked"];
    house
        .call_with("trouble/t/echo", &huge, &chunked)
        .await
        .refused(413);
    let claim = format!(
        "POST /v1/entities/trouble/t/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1000000000000\r\n\r\n"
    );
    house.send(&claim).await.refused(413);
}

#[tokio::test]
async fn what_is_not_there_is_said_with_what_there_is() {
    let house = House::new().await;
    let text = house.call("acount/alice/balance", "").await.refused(404);
    assert!(
        text.contains("`acount`") && text.contains("account, trouble"),
        "{text}"
    );
    for method in ["blance", "Balance", "book", "tell", "..", "%2e%2e"] {
        let text = house
            .call(&format!("account/alice/{method}"), "")
            .await
            .refused(404);
        assert!(
            text.contains("deposit, withdraw, balance, history"),
            "{text}"
        );
    }
    for path in [
        "/",
        "/v1",
        "/v1/entities/",
        "/v1/entities/account/alice",
        "/v1/entities/account/alice/balance/",
        "/v1/entities/../../etc/passwd",
        "/v2/entities/account/alice/balance",
        "//v1/entities",
    ] {
        let reply = finished(curl(&["-X", "POST", &house.url(path)])).await;
        assert!(reply.refused(404).contains("/openapi.json"), "{path}");
    }
}

#[tokio::test]
async fn methods_are_called_with_post_only() {
    let house = House::new().await;
    for verb in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
        let url = house.url("/v1/entities/account/alice/balance");
        let text = finished(curl(&["-X", verb, &url])).await.refused(405);
        assert!(text.contains(verb) && text.contains("POST"), "{text}");
    }
    finished(curl(&["-X", "POST", &house.url("/openapi.json")]))
        .await
        .refused(405);
}

#[tokio::test]
async fn ids_that_cannot_be_used_are_refused() {
    let house = House::new().await;
    let long = "x".repeat(1025);
    let text = house
        .call(&format!("account/{long}/balance"), "")
        .await
        .refused(400);
    assert!(text.contains("1024"), "{text}");
    let text = house.call("account//balance", "").await.refused(400);
    assert!(text.contains("empty"), "{text}");
    let text = house.call("account/%ff%fe/balance", "").await.refused(400);
    assert!(text.contains("UTF-8"), "{text}");
    for odd in ["%", "%4", "%zz"] {
        // What is no percent-encoding is what it is.
        house
            .call(&format!("account/{odd}/balance"), "")
            .await
            .value();
    }
}

#[tokio::test]
async fn queries_and_headers_that_mean_nothing_are_refused() {
    let house = House::new().await;
    for query in ["tel", "tell=1", "tell&tell", "amount=5", "%74ell"] {
        let text = house
            .call(&format!("account/alice/balance?{query}"), "")
            .await
            .refused(400);
        assert!(text.contains("?tell"), "{text}");
    }
    for timeout in [
        "soon",
        "0",
        "-1",
        "1.5",
        "60001",
        "99999999999999999999999",
        "1 2",
        "é",
    ] {
        let header = format!("Ostrakon-Timeout: {timeout}");
        let reply = house
            .call_with("account/alice/balance", "", &["-H", &header])
            .await;
        assert!(reply.refused(400).contains("1 to 60000"), "{timeout}");
    }
    let most = ["-H", "Ostrakon-Timeout: 60000"];
    house
        .call_with("account/alice/balance", "", &most)
        .await
        .value();
}

#[tokio::test]
async fn a_huge_head_is_not_read() {
    let house = House::new().await;
    let header = format!("X: {}", "x".repeat(40_000));
    let reply = house
        .call_with("account/alice/balance", "", &["-H", &header])
        .await;
    assert_eq!(reply.status, 431, "{reply:?}");
}

#[tokio::test]
async fn a_caller_that_sends_its_request_drop_by_drop_is_left() {
    let house = House::with(GatewaySettings {
        patience: Duration::from_millis(300),
        ..GatewaySettings::default()
    })
    .await;
    let mut head = TcpStream::connect(house.address()).await.unwrap();
    head.write_all(b"POST /v1/entities HTTP/1.1\r\nX-Slow: ")
        .await
        .unwrap();
    let mut silent = TcpStream::connect(house.address()).await.unwrap();
    let half = format!(
        "POST /v1/entities/account/alice/deposit HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\n{{"
    );
    house.send(&half).await.refused(408);
    let mut rest = Vec::new();
    for stream in [&mut head, &mut silent] {
        let ended = timeout(SOON, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "it is still waited for");
    }
}

#[tokio::test]
async fn callers_beyond_the_places_wait_until_others_are_left() {
    let house = House::with(GatewaySettings {
        connections: 1,
        patience: Duration::from_millis(300),
        ..GatewaySettings::default()
    })
    .await;
    let _idle = TcpStream::connect(house.address()).await.unwrap();
    house.call("account/alice/balance", "").await.value();
}
