//! What the gateway says about itself.

use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn kinds_and_methods_are_listed() {
    let house = House::new().await;
    let all = house.get("/v1/entities").await.value();
    let kinds: Vec<&Value> = all["kinds"].as_array().unwrap().iter().collect();
    assert_eq!(
        [&kinds[0]["kind"], &kinds[1]["kind"]],
        ["account", "trouble"]
    );
    let deposit = json!({"method": "deposit", "arguments": ["amount"], "answer": "value"});
    assert_eq!(kinds[0]["methods"][0], deposit);
    let names = kinds[1]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|method| &method["method"]);
    assert!(
        names.clone().any(|name| name == "match"),
        "names are as people write them"
    );
    assert!(
        !names.clone().any(|name| name == "begin"),
        "a hook is no method"
    );
}

#[tokio::test]
async fn every_method_that_is_listed_is_described_and_no_other() {
    let house = House::new().await;
    let (listed, described) = (
        house.get("/v1/entities").await.value(),
        house.get("/openapi.json").await.value(),
    );
    let paths = described["paths"].as_object().unwrap();
    let mut expected = vec!["/openapi.json".to_owned(), "/v1/entities".to_owned()];
    for kind in listed["kinds"].as_array().unwrap() {
        for method in kind["methods"].as_array().unwrap() {
            let (kind, name) = (
                kind["kind"].as_str().unwrap(),
                method["method"].as_str().unwrap(),
            );
            let path = format!("/v1/entities/{kind}/{{id}}/{name}");
            let body =
                &paths[&path]["post"]["requestBody"]["content"]["application/json"]["schema"];
            let mut arguments: Vec<&String> =
                body["properties"].as_object().unwrap().keys().collect();
            let mut wanted: Vec<&str> = method["arguments"]
                .as_array()
                .unwrap()
                .iter()
                .map(|a| a.as_str().unwrap())
                .collect();
            arguments.sort();
            wanted.sort_unstable();
            assert_eq!(arguments, wanted, "{path}");
            expected.push(path);
        }
    }
    expected.sort();
    let mut found: Vec<&String> = paths.keys().collect();
    found.sort();
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_method_is_described_with_its_types_and_its_docs() {
    let house = House::new().await;
    let described = house.get("/openapi.json").await.value();
    assert_eq!(described["openapi"], "3.1.0");
    assert_eq!(described["security"], json!([{"token": []}]));
    let method = |path: &str| described["paths"][format!("/v1/entities/{path}")]["post"].clone();
    let deposit = method("account/{id}/deposit");
    assert_eq!(
        deposit["description"],
        "Puts money in.\n\n Answers with what is there then."
    );
    let body = &deposit["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["properties"]["amount"], json!({"type": "integer"}));
    let answer = |of: &Value, status: &str| {
        of["responses"][status]["content"]["application/json"]["schema"].clone()
    };
    assert_eq!(answer(&deposit, "200"), json!({"type": "integer"}));
    let withdraw = method("account/{id}/withdraw");
    let own = &answer(&withdraw, "422")["allOf"][1]["properties"]["rejection"];
    assert_eq!(own["properties"]["balance"], json!({"type": "integer"}));
    let history = method("account/{id}/history");
    let stream = &history["responses"]["200"]["content"]["text/event-stream"];
    assert_eq!(stream["x-item"], json!({"type": "integer"}));
    for status in ["200", "default"] {
        assert!(history["responses"][status].is_object());
    }
}
