//! Every kind of failure that can be brought about, and what its answer says about sending again.

use ostrakon_gateway::GatewaySettings;
use serde_json::json;
use tokio::time::timeout;

use crate::house::{House, SOON, finished};

#[tokio::test]
async fn what_takes_too_long_may_have_been_executed_and_what_waited_was_not() {
    let house = House::new().await;
    let soon = ["-H", "Ostrakon-Timeout: 300"];
    let held = house.calling("trouble/t/hold", "", &soon);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    let behind = house
        .call_with("trouble/t/note", r#"{"text":"late"}"#, &soon)
        .await;
    let text = behind.problem(503, "not_executed", "safe");
    assert!(text.contains("not executed"), "{text}");
    let text = finished(held).await.problem(504, "unknown", "no");
    assert!(text.contains("may have been executed"), "{text}");
    house.hands.release.notify_one();
    assert_eq!(house.call("trouble/t/notes", "").await.value(), json!([]));
}

#[tokio::test]
async fn a_full_mailbox_is_too_many_requests() {
    let house = House::new().await;
    let held = house.calling("trouble/t/hold", "", &[]);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    for text in ["1", "2"] {
        let told = house
            .call("trouble/t/note?tell", &format!(r#"{{"text":"{text}"}}"#))
            .await;
        assert_eq!(told.status, 202);
    }
    for path in ["trouble/t/note?tell", "trouble/t/note"] {
        let refused = house.call(path, r#"{"text":"3"}"#).await;
        let text = refused.problem(429, "not_executed", "safe");
        assert!(text.contains("mailbox of trouble/t is full"), "{text}");
    }
    house.hands.release.notify_one();
    finished(held).await.value();
    assert_eq!(
        house.call("trouble/t/notes", "").await.value(),
        json!(["1", "2"])
    );
}

#[tokio::test]
async fn a_panic_is_the_entity_s_fault() {
    let house = House::new().await;
    let reply = house.call("trouble/t/panic", "").await;
    let text = reply.problem(500, "failed", "no");
    assert!(text.contains("it was asked to"), "{text}");
    house.call("trouble/t/notes", "").await.value();
}

#[tokio::test]
async fn an_entity_that_cannot_start_may_be_asked_again() {
    let house = House::new().await;
    let reply = house.call("trouble/broken/notes", "").await;
    assert!(
        reply
            .problem(503, "not_executed", "safe")
            .contains("its disk is gone")
    );
}

#[tokio::test]
async fn an_answer_that_is_no_json_was_executed_all_the_same() {
    let house = House::new().await;
    let reply = house.call("trouble/t/matrix", "").await;
    assert!(reply.problem(500, "executed", "no").contains("JSON"));
}

#[tokio::test]
async fn a_node_that_leaves_sends_callers_elsewhere() {
    let house = House::new().await;
    house.node.leave().await.unwrap();
    let reply = house.call("account/alice/balance", "").await;
    let text = reply.problem(503, "not_executed", "safe");
    assert!(text.contains("another"), "{text}");
}

#[tokio::test]
async fn requests_beyond_the_places_are_told_so_and_one_that_is_given_up_leaves_its_place() {
    let house = House::with(GatewaySettings {
        requests: 2,
        ..GatewaySettings::default()
    })
    .await;
    let held = house.calling("trouble/t/hold", "", &[]);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    let mut waiting = house.calling("trouble/t/note", r#"{"text":"given up"}"#, &[]);
    house.until_listed(503).await;
    let text = house
        .get("/v1/entities")
        .await
        .problem(503, "not_executed", "safe");
    assert!(text.contains("too many requests"), "{text}");
    waiting.kill().await.unwrap();
    house.until_listed(200).await;
    house.hands.release.notify_one();
    finished(held).await.value();
    let notes = house.call("trouble/t/notes", "").await.value();
    assert_eq!(
        notes,
        json!([]),
        "its turn had not come, so it was taken back"
    );
}
