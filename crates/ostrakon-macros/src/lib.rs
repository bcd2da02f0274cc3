//! The `#[entity]` attribute of Ostrakon: an `impl` block in, an entity and its typed ref out.
//!
//! Reading and writing are apart: `parse` knows what a user may write and reports everything that is wrong with it,
//! `expand` turns what was read into code and cannot fail. Nothing of the runtime is here; the generated code reaches
//! it through `::ostrakon`. Use the attribute through the `ostrakon` crate.

mod expand;
mod parse;

use proc_macro::TokenStream;

/// Makes an entity of an `impl` block: each async method becomes a message.
///
/// ```text
/// use futures_core::Stream;
/// use ostrakon::{Context, Failure, entity};
///
/// #[derive(Default)]
/// struct Account { balance: i64 }
///
/// #[entity(kind = "account")]
/// impl Account {
///     async fn deposit(&mut self, amount: i64) -> i64 { … }
///     async fn withdraw(&mut self, amount: i64) -> Result<i64, Insufficient> { … }
///     async fn later(&mut self, ctx: &mut Context<Self>, text: String) { … }
///     fn watch(&mut self, from: i64) -> impl Stream<Item = i64> { … }
///     #[idempotent] async fn set(&mut self, balance: i64) { … }
///     #[start] async fn load(&mut self) -> Result<(), Failure> { … }
///     #[stop] async fn save(&mut self) { … }
///     #[helper] async fn reload(&mut self) { … }
///     fn rate(&self) -> f64 { … }
/// }
///
/// let account = node.entity::<Account>("alice");           // an `AccountRef`
/// let balance = account.deposit(5).await?;                 // asks
/// account.tell().deposit(5).await?;                        // tells: waits for no answer
/// let mut changes = account.watch(0).await?;               // an `EntityStream<i64>`
/// ```
///
/// # Options
///
/// - `kind = "account"`: the entity's kind, the same on every node. Default: the type's name in `snake_case`.
/// - `codec = "messagepack"`, `"postcard"` or `"json"`: how messages leave the process. Default: MessagePack.
///
/// # Methods
///
/// | written | becomes |
/// |---|---|
/// | `async fn` with `&self` or `&mut self` | a message. Arguments and answer travel, so they are owned and serializable |
/// | … that returns `Result<T, E>` | its ref gives `Result<T, AskError<E>>`: the entity's own error is `Rejected` |
/// | `fn … -> impl Stream<Item = T>` | a streaming message. The stream must not borrow from `self` |
/// | `#[idempotent] async fn` | a message that is handled again after a failure; its arguments are cloned for that |
/// | `#[start] async fn` | runs before the first message; returns nothing or a `Result<(), E>` |
/// | `#[stop] async fn` | runs after the last message; returns nothing |
/// | `#[helper]` on any method | stays a plain method |
/// | any other `fn` | stays a plain function |
///
/// A parameter `&mut Context<Self>` or `&Context<Self>`, at any place, gets the context and is not part of the message.
/// A future that is held over an `.await` must be `Send`; a method with `&self` therefore needs an entity that is `Sync`.
///
/// # What is generated, for a type `Account`
///
/// - `AccountMessage`: an enum with a variant `Deposit { amount, reply }` for the method `deposit(amount)`, for those who
///   schedule messages or tell themselves. (If an argument is called `reply`, the reply's own field is `reply_`.)
/// - `impl Entity for Account`.
/// - `AccountRef` with a method for each message, plus `tell`, `within`, `id` and `AsRef<EntityRef<Account>>`.
/// - `AccountTell`, what `tell` gives: the same methods without an answer, except the streaming ones.
/// - `impl Methods for Account`: the same methods by name, for gateways. Until one is used it is not compiled into anything.
///
/// The ref's methods have the docs and the visibility of the originals. The types themselves are `pub`, so that they are
/// never more private than the entity; how far they reach is for the module to say.
#[proc_macro_attribute]
pub fn entity(options: TokenStream, item: TokenStream) -> TokenStream {
    match parse::EntityImpl::parse(options.into(), item.into()) {
        Ok(entity) => expand::expand(&entity),
        Err(rejected) => rejected.into_tokens(),
    }
    .into()
}
