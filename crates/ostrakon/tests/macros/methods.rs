//! The same methods by their names, as a gateway calls them.

use std::{
    fmt::{Display, Write as _},
    pin::Pin,
};

use ostrakon::{EntityRef, MethodCaller, MethodList, Methods, Node, Payload, Reply, StreamReply};
use serde_json::{Value, json};

use super::{Account, Memory, Ticker, Witness, library};

/// Writes down what it is told.
#[derive(Default)]
struct Notes(String);

impl Notes {
    fn of<E: Methods>() -> String {
        let mut notes = Self::default();
        E::list(&mut notes);
        notes.0
    }
}

impl MethodList for Notes {
    fn argument<T: Payload>(&mut self, name: &'static str) {
        write!(self.0, "{name} ").unwrap();
    }

    fn value<T: Payload>(&mut self, method: &'static str, docs: &'static str) {
        writeln!(self.0, "{method}: value {}", docs.trim()).unwrap();
    }

    fn outcome<T: Payload, F: Payload + Display>(
        &mut self,
        method: &'static str,
        docs: &'static str,
    ) {
        writeln!(self.0, "{method}: outcome {}", docs.trim()).unwrap();
    }

    fn items<T: Payload>(&mut self, method: &'static str, docs: &'static str) {
        writeln!(self.0, "{method}: items {}", docs.trim()).unwrap();
    }
}

#[test]
fn all_messages_are_listed_and_nothing_else() {
    let account = [
        "amount deposit: value ",
        "balance: value ",
        "amount withdraw: outcome ",
        "text note: value ",
        "notes: value ",
        "ctx message reply type names: value ",
        "greeting who: value ",
        "from watch: items ",
        "",
    ];
    assert_eq!(Notes::of::<Account>(), account.join("\n"));
    assert_eq!(
        Notes::of::<Witness>(),
        "balance: value \n",
        "neither hooks nor helpers"
    );
    let memory = "other swap: value \nothers all: value \nsize: value \n";
    assert_eq!(Notes::of::<Memory>(), memory, "only this configuration's");
    let ticker = Notes::of::<Ticker>();
    assert!(ticker.contains("unwatched: value Comes back when nobody watches any more.\n"));
    let public = "name greet: value Greets.\nundocumented: value \ninner: value \n";
    assert_eq!(Notes::of::<library::Public>(), public);
}

/// Calls with JSON, as far as this test needs it.
struct Json<E: Methods> {
    entity: EntityRef<E>,
    arguments: Value,
}

type Called = Pin<Box<dyn Future<Output = Value>>>;

impl<E: Methods> MethodCaller<E> for Json<E> {
    type Called = Called;
    type Refused = String;

    fn argument<T: Payload>(&mut self, name: &'static str) -> std::result::Result<T, String> {
        let argument = self.arguments[name].take();
        serde_json::from_value(argument).map_err(|error| format!("{name}: {error}"))
    }

    fn value<T: Payload>(
        self,
        message: impl FnOnce(Reply<T>) -> E::Message + Send + 'static,
    ) -> std::result::Result<Called, String> {
        Ok(Box::pin(async move {
            json!(self.entity.ask(message).await.unwrap())
        }))
    }

    fn outcome<T: Payload, F: Payload + Display>(
        self,
        message: impl FnOnce(Reply<std::result::Result<T, F>>) -> E::Message + Send + 'static,
    ) -> std::result::Result<Called, String> {
        self.value(message)
    }

    fn items<T: Payload>(
        self,
        message: impl FnOnce(StreamReply<T>) -> E::Message + Send + 'static,
    ) -> std::result::Result<Called, String> {
        Ok(Box::pin(async move {
            let mut stream = self.entity.stream(message).await.unwrap();
            let mut items = Vec::new();
            while let Some(item) = stream.next().await {
                items.push(json!(item.unwrap()));
            }
            json!(items)
        }))
    }

    fn unknown(self) -> String {
        "no such method".to_owned()
    }
}

#[tokio::test]
async fn methods_are_called_by_their_names() {
    let node = Node::builder("n").host::<Account>().start().await.unwrap();
    let call = |method: &str, arguments: Value| {
        let entity = node.entity::<Account>("alice").as_ref().clone();
        <Account as Methods>::call(method, Json { entity, arguments })
    };
    for (method, arguments, answer) in [
        ("deposit", json!({"amount": 5}), json!(5)),
        ("withdraw", json!({"amount": 1}), json!({"Ok": 4})),
        (
            "withdraw",
            json!({"amount": 9}),
            json!({"Err": {"balance": 4}}),
        ),
        (
            "names",
            json!({"ctx": 1, "message": 2, "reply": 3, "type": 4}),
            json!([1, 2, 3, 4]),
        ),
        ("who", json!({"greeting": "I am"}), json!("I am alice")),
        ("watch", json!({"from": 2}), json!([2, 3, 4])),
    ] {
        assert_eq!(call(method, arguments).unwrap().await, answer, "{method}");
    }
    let refused = call("deposit", json!({"amount": "much"})).err().unwrap();
    assert!(refused.starts_with("amount: invalid type"), "{refused}");
    assert_eq!(call("r#names", json!({})).err().unwrap(), "no such method");
    node.leave().await.unwrap();
}
