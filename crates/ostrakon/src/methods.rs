//! `Methods`: an entity's methods by their names, for gateways that have texts where Rust has types.
//!
//! [`#[entity]`](macro@crate::entity) writes it for every entity; what a gateway does with it is the gateway's own: how arguments are read and
//! answers written is not decided here. Everything is generic over the gateway, so that a program without one has nothing of this in it.
//! Entities whose messages are written by hand do not have it.

use std::fmt::Display;

use crate::{Entity, Payload, Reply, StreamReply};

/// The methods of an entity, by name.
pub trait Methods: Entity {
    /// Describes every method, in the order in which they are written: its arguments one by one, then the method itself.
    fn list(list: &mut impl MethodList);

    /// Calls one of them: takes its arguments from `caller` and hands it the message.
    fn call<C: MethodCaller<Self>>(method: &str, caller: C) -> Result<C::Called, C::Refused>;
}

/// Takes down what [`Methods::list`] says.
pub trait MethodList {
    /// An argument of the method that is named next.
    fn argument<T: Payload>(&mut self, name: &'static str);

    /// A method that answers with a value.
    fn value<T: Payload>(&mut self, method: &'static str, docs: &'static str);

    /// A method that answers with a value or with an error of the entity's own.
    fn outcome<T: Payload, F: Payload + Display>(
        &mut self,
        method: &'static str,
        docs: &'static str,
    );

    /// A method that answers with a stream of items.
    fn items<T: Payload>(&mut self, method: &'static str, docs: &'static str);
}

/// Makes one call: gives the arguments, then gets what builds the message around a reply.
pub trait MethodCaller<E: Entity>: Sized {
    /// A call that is under way, or ready to be.
    type Called;
    /// Why there is no call. Nothing was sent.
    type Refused;

    /// The argument of this name.
    fn argument<T: Payload>(&mut self, name: &'static str) -> Result<T, Self::Refused>;

    /// Calls a method that answers with a value.
    fn value<T: Payload>(
        self,
        message: impl FnOnce(Reply<T>) -> E::Message + Send + 'static,
    ) -> Result<Self::Called, Self::Refused>;

    /// Calls a method that answers with a value or with an error of the entity's own.
    fn outcome<T: Payload, F: Payload + Display>(
        self,
        message: impl FnOnce(Reply<Result<T, F>>) -> E::Message + Send + 'static,
    ) -> Result<Self::Called, Self::Refused>;

    /// Calls a method that answers with a stream of items.
    fn items<T: Payload>(
        self,
        message: impl FnOnce(StreamReply<T>) -> E::Message + Send + 'static,
    ) -> Result<Self::Called, Self::Refused>;

    /// The entity has no method of the name that was given.
    fn unknown(self) -> Self::Refused;
}
