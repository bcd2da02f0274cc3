//! What a function is to its entity: a message, a hook, or none of the macro's business.

use syn::{Attribute, ImplItemFn, Meta};

use super::{errors::Errors, types};

const ROLES: [&str; 4] = ["start", "stop", "helper", "idempotent"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Message(Redelivery),
    Start,
    Stop,
    Plain,
}

/// Whether a message may be handled again after a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redelivery {
    Never,
    Idempotent,
}

impl Role {
    /// Reads and removes the function's role attribute.
    pub(super) fn take(function: &mut ImplItemFn, errors: &mut Errors) -> Self {
        let is_role = |attr: &mut Attribute| ROLES.iter().any(|role| attr.path().is_ident(role));
        let written: Vec<Attribute> = function.attrs.extract_if(.., is_role).collect();
        for attr in &written {
            if !matches!(attr.meta, Meta::Path(_)) {
                errors.push(attr, "this attribute takes no arguments");
            }
        }
        if let [_, second, ..] = written.as_slice() {
            errors.push(
                second,
                "a method has one role: keep one of these attributes",
            );
        }
        match written.first() {
            Some(attr) if attr.path().is_ident("start") => Self::Start,
            Some(attr) if attr.path().is_ident("stop") => Self::Stop,
            Some(attr) if attr.path().is_ident("helper") => Self::Plain,
            Some(attr) => Self::idempotent(function, attr, errors),
            None if is_message(function) => Self::Message(Redelivery::Never),
            None => Self::Plain,
        }
    }

    fn idempotent(function: &ImplItemFn, attr: &Attribute, errors: &mut Errors) -> Self {
        if function.sig.asyncness.is_some() && is_message(function) {
            return Self::Message(Redelivery::Idempotent);
        }
        errors.push(
            attr,
            if is_message(function) {
                "a stream cannot be repeated, its first items may have been read: remove `#[idempotent]`"
            } else {
                "only a message can be repeated: put `#[idempotent]` on an `async fn` that takes `&self` or `&mut self`"
            },
        );
        Self::Plain
    }
}

fn is_message(function: &ImplItemFn) -> bool {
    let sig = &function.sig;
    let is_called_on_entity = sig.receiver().is_some();
    is_called_on_entity && (sig.asyncness.is_some() || types::returns_stream(&sig.output))
}
