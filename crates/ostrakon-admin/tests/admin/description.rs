//! Whether an answer is as `openapi.json` says.

use serde_json::Value;

use crate::house::{House, Reply};

/// Fails if the description does not know the answer, or knows it otherwise.
pub(crate) fn check(method: &str, path: &str, reply: &Reply) {
    let all: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    let path = path.split('?').next().unwrap();
    let Some(item) = all["paths"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(template, _)| is_like(path, template))
    else {
        assert_eq!(reply.status, 404, "{path} is not described");
        return conforms(
            &all,
            &all["components"]["schemas"]["Problem"],
            &reply.json(),
            path,
        );
    };
    let responses = &item.1[method]["responses"];
    let status = reply.status.to_string();
    let response = responses
        .get(&status)
        .or_else(|| responses.get("default"))
        .unwrap();
    let content = response["content"].as_object().unwrap();
    let (kind, described) = content.iter().next().unwrap();
    assert!(
        reply.head.contains(&format!("content-type: {kind}")),
        "{path}: {reply:?}"
    );
    if kind == "application/json" {
        conforms(&all, &described["schema"], &reply.json(), path);
    }
}

fn is_like(path: &str, template: &str) -> bool {
    let (own, pattern): (Vec<_>, Vec<_>) =
        (path.split('/').collect(), template.split('/').collect());
    own.len() == pattern.len()
        && own
            .iter()
            .zip(&pattern)
            .all(|(part, wanted)| wanted.starts_with('{') || part == wanted)
}

fn conforms(all: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return conforms(all, &all["components"]["schemas"][name], value, at);
    }
    if let Some(any) = schema["oneOf"].as_array() {
        let other = any.iter().find(|schema| schema["type"] != "null").unwrap();
        if !value.is_null() {
            conforms(all, other, value, at);
        }
        return;
    }
    let types = &schema["type"];
    let is_allowed = |own: &str| {
        types == own
            || types
                .as_array()
                .is_some_and(|types| types.iter().any(|wanted| wanted == own))
    };
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(is_allowed(own), "{at}: {value} is not {types}");
    if let Some(choices) = schema["enum"].as_array() {
        assert!(
            choices.contains(value),
            "{at}: {value} is not in {choices:?}"
        );
    }
    for item in value.as_array().into_iter().flatten() {
        conforms(all, &schema["items"], item, at);
    }
    if let (Some(object), Some(known)) = (value.as_object(), schema["properties"].as_object()) {
        object_conforms(all, schema, object, known, at);
    }
}

fn object_conforms(
    all: &Value,
    schema: &Value,
    object: &serde_json::Map<String, Value>,
    known: &serde_json::Map<String, Value>,
    at: &str,
) {
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(
            object.contains_key(required.as_str().unwrap()),
            "{at}: no {required}"
        );
    }
    for (key, value) in object {
        match known.get(key) {
            Some(schema) => conforms(all, schema, value, &format!("{at}.{key}")),
            None => assert_ne!(
                schema["additionalProperties"], false,
                "{at}: {key} is not described"
            ),
        }
    }
}

#[tokio::test]
async fn it_is_served_as_it_is_kept() {
    let house = House::with_two_nodes().await;
    let served = house.get("/openapi.json").await;
    assert_eq!(served.body, include_str!("../../openapi.json"));
}
