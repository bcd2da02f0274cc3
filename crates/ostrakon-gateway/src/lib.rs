//! Entities for programs in any language: JSON over HTTP.
//!
//! ```text
//!   POST /v1/entities/{kind}/{id}/{method}          asks: the arguments as a JSON object, the answer as JSON
//!   POST /v1/entities/{kind}/{id}/{method}?tell     tells: 202 as soon as the message is accepted
//!   GET  /v1/entities   /openapi.json               what there is
//! ```
//!
//! A method that answers with a stream is answered with server-sent events. Every error says by its status and in its body whether the
//! message was executed and whether it may be repeated. Nothing is served that a program has not exposed, and nobody is served who does not
//! show the [`Token`].
//!
//! ```no_run
//! use ostrakon::{Node, entity};
//! use ostrakon_gateway::{Gateway, Token};
//!
//! #[derive(Default)]
//! struct Account {
//!     balance: i64,
//! }
//!
//! #[entity(kind = "account")]
//! impl Account {
//!     async fn deposit(&mut self, amount: i64) -> i64 {
//!         self.balance += amount;
//!         self.balance
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let node = Node::builder("node-1").host::<Account>().start().await?;
//! let gateway = Gateway::builder(node.clone(), Token::read("gateway.token".as_ref())?)
//!     .expose::<Account>()
//!     .serve("127.0.0.1:8080")
//!     .await?;
//! // curl --json '{"amount": 5}' -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/v1/entities/account/alice/deposit
//! # gateway.stop().await;
//! # Ok(()) }
//! ```
//!
//! The gateway runs where the entities' types are: on a node that hosts them, or on one that only reaches them. Entities whose messages are
//! written by hand, without `#[entity]`, cannot be exposed: they have no methods.

mod arguments;
mod builder;
mod call;
mod certificate;
mod error;
mod gateway;
mod guard;
mod items;
mod kind;
mod office;
mod openapi;
mod problem;
mod request;
mod routes;
mod settings;
mod shape;
mod verdict;

pub use builder::GatewayBuilder;
pub use error::GatewayError;
pub use gateway::Gateway;
pub use ostrakon_tls::{InvalidToken, Token};
pub use settings::GatewaySettings;

/// The snippets of the page about it compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gateway.md")]
struct Page;
