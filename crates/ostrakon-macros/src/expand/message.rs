//! The message enum: one variant per method.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use super::{hidden, quiet};
use crate::parse::{Answer, EntityImpl, Form, Method};

pub(super) fn message(entity: &EntityImpl) -> TokenStream {
    let name = entity.generated("Message");
    let doc = format!("What can be said to [`{}`].", entity.name());
    let variants = entity.methods.iter().map(variant);
    let checks = entity.methods.iter().map(checks);
    let quiet = quiet();
    let hidden = hidden(entity);
    quote! {
        const _: fn() = || {
            fn travels<T: ::ostrakon::Payload>() {}
            #(#checks)*
        };

        #[doc = #doc]
        #hidden
        #quiet
        #[derive(::ostrakon::generated::serde::Serialize, ::ostrakon::generated::serde::Deserialize)]
        #[serde(crate = "::ostrakon::generated::serde")]
        pub enum #name {
            #(#variants,)*
        }
    }
}

fn variant(method: &Method) -> TokenStream {
    let Method { variant, reply, .. } = method;
    let cfg = &method.attributes.cfg;
    let docs = &method.attributes.docs;
    let fields = method.arguments().map(|(name, ty)| quote!(#name: #ty));
    let reply_type = reply_type(&method.answer);
    quote! {
        #(#cfg)*
        #(#docs)*
        #variant {
            #(#fields,)*
            #reply: #reply_type,
        }
    }
}

fn reply_type(answer: &Answer) -> TokenStream {
    let ty = &answer.ty;
    match answer.form {
        Form::Value | Form::Outcome { .. } => {
            quote_spanned!(ty.span()=> ::ostrakon::Reply<#ty>)
        }
        Form::Stream => quote_spanned!(ty.span()=> ::ostrakon::StreamReply<#ty>),
    }
}

/// Asks of each argument that it can travel, before serde does so in other words. A reply asks for its answer.
fn checks(method: &Method) -> TokenStream {
    let cfg = &method.attributes.cfg;
    let check = |ty: &Type| quote_spanned!(ty.span()=> travels::<#ty>(););
    let arguments = method.arguments().map(|(_, ty)| check(ty));
    quote! {
        #(#cfg)*
        {
            #(#arguments)*
        }
    }
}
