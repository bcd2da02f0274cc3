//! What is generated: the block as written, its message, its `Entity` impl, its ref, and its methods by name.
//!
//! Everything is named in full (`::ostrakon`, `::core`), because the names in scope are the user's. Local variables have
//! mixed-site hygiene, so that no argument can shadow them. Code that can fail to compile because of what the user wrote
//! carries the span of what the user wrote.

mod entity;
mod message;
mod methods;
mod refs;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

use crate::parse::EntityImpl;

pub(crate) fn expand(entity: &EntityImpl) -> TokenStream {
    let item = &entity.item;
    let message = message::message(entity);
    let implementation = entity::entity(entity);
    let refs = refs::refs(entity);
    let methods = methods::methods(entity);
    quote! {
        #item
        #message
        #implementation
        #refs
        #methods
    }
}

/// Silences the lints that generated code is no news for.
///
/// Not every method of a ref is called, and a private type in a signature has been reported at the user's own method.
fn quiet() -> TokenStream {
    quote!(#[allow(
        clippy::all,
        clippy::pedantic,
        dead_code,
        deprecated,
        missing_docs,
        private_interfaces,
        unreachable_pub,
        unused_variables
    )])
}

/// Keeps types that only this module can use out of the docs.
fn hidden(entity: &EntityImpl) -> Option<TokenStream> {
    (!entity.is_public()).then(|| quote!(#[doc(hidden)]))
}

/// A local variable that no argument can clash with, shown at `place`.
fn local(name: &str, place: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(place))
}

/// `self`, shown at `place`. It is hygienic, so it must come from where the generated signatures come from.
fn this(place: Span) -> Ident {
    Ident::new("self", Span::call_site().located_at(place))
}
