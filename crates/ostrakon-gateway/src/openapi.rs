//! The description of a gateway in OpenAPI 3.1: a path for each method, made from the kinds that are exposed.

use serde_json::{Map, Value, json};

use crate::kind::{Answer, Kind, Method};

pub(crate) fn describe<'k>(kinds: impl Iterator<Item = &'k Kind>) -> Value {
    let mut paths = Map::new();
    paths.insert("/v1/entities".to_owned(), json!({"get": listing()}));
    paths.insert("/openapi.json".to_owned(), json!({"get": description()}));
    for kind in kinds {
        for method in &kind.methods {
            let path = format!("/v1/entities/{}/{{id}}/{}", kind.name, method.name);
            paths.insert(path, json!({"post": operation(kind, method)}));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ostrakon gateway",
            "description": "Entities by JSON. `outcome` and `retry` of a problem say whether a message was executed and may be repeated.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": problem()},
        },
    })
}

fn listing() -> Value {
    json!({
        "summary": "Lists kinds and their methods.",
        "operationId": "list",
        "responses": {"200": json_body("What is exposed.", &json!({"type": "object"})), "default": failure()},
    })
}

fn description() -> Value {
    json!({
        "summary": "This description.",
        "operationId": "describe",
        "responses": {"200": json_body("OpenAPI 3.1.", &json!({"type": "object"})), "default": failure()},
    })
}

fn operation(kind: &Kind, method: &Method) -> Value {
    let mut operation = json!({
        "operationId": format!("{}.{}", kind.name, method.name),
        "tags": [kind.name],
        "parameters": parameters(&method.answer),
        "requestBody": {
            "required": false,
            "content": {"application/json": {"schema": arguments(method)}},
        },
        "responses": responses(&method.answer),
    });
    if !method.docs.is_empty() {
        operation["description"] = json!(method.docs);
    }
    operation
}

fn parameters(answer: &Answer) -> Value {
    let id = json!({
        "name": "id", "in": "path", "required": true,
        "description": "Which entity of the kind, 1 to 1024 bytes of UTF-8.",
        "schema": {"type": "string", "minLength": 1},
    });
    let timeout = json!({
        "name": "Ostrakon-Timeout", "in": "header", "required": false,
        "description": "How long the call may take, in milliseconds.",
        "schema": {"type": "integer", "minimum": 1},
    });
    let trace = json!({
        "name": "traceparent", "in": "header", "required": false,
        "description": "The W3C trace that the call is part of.",
        "schema": {"type": "string"},
    });
    let tell = json!({
        "name": "tell", "in": "query", "required": false, "allowEmptyValue": true,
        "description": "Waits for no answer: 202 as soon as the message is accepted.",
        "schema": {"type": "string", "maxLength": 0},
    });
    match answer {
        Answer::Value(_) | Answer::Outcome { .. } => json!([id, timeout, trace, tell]),
        Answer::Items(_) => json!([id, timeout, trace]),
    }
}

fn arguments(method: &Method) -> Value {
    let arguments = method.arguments.iter();
    let shapes = arguments.map(|argument| (argument.name.to_owned(), argument.shape.clone()));
    let properties: Map<String, Value> = shapes.collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn responses(answer: &Answer) -> Value {
    let accepted = json!({"description": "Told: accepted, not yet handled."});
    match answer {
        Answer::Value(value) => json!({
            "200": json_body("The answer.", value),
            "202": accepted,
            "default": failure(),
        }),
        Answer::Outcome { value, error } => json!({
            "200": json_body("The answer.", value),
            "202": accepted,
            "422": json_body("The entity's own error.", &json!({
                "allOf": [
                    {"$ref": "#/components/schemas/Problem"},
                    {"type": "object", "properties": {"rejection": error}},
                ],
            })),
            "default": failure(),
        }),
        Answer::Items(item) => json!({
            "200": {
                "description": "The `data` of each event is an item; an event `end` says that these are all, an event `failed` that they are not.",
                "content": {"text/event-stream": {"schema": {"type": "string"}, "x-item": item}},
            },
            "default": failure(),
        }),
    }
}

fn json_body(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

fn failure() -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    json_body(
        "429 and 503: not executed, try again later; 504: nobody knows; all others: see `outcome`.",
        &schema,
    )
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["error", "remedy", "outcome", "retry"],
        "properties": {
            "error": {"type": "string", "description": "What is wrong."},
            "remedy": {"type": "string", "description": "What to do about it."},
            "outcome": {"enum": ["not_executed", "executed", "failed", "unknown"], "description": "What is known about the message."},
            "retry": {"enum": ["safe", "no"], "description": "Whether the same request may be sent again as it is."},
            "rejection": {"description": "The entity's own error."},
        },
    })
}
