//! The typed ref and its `tell` side.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::{hidden, local, quiet, this};
use crate::parse::{EntityImpl, Form, Method};

pub(super) fn refs(entity: &EntityImpl) -> TokenStream {
    let types = types(entity);
    let conversions = conversions(entity);
    let ty = &entity.ty;
    let (reference, tell) = (entity.generated("Ref"), entity.generated("Tell"));
    let asks = entity.methods.iter().map(|method| ask(entity, method));
    let tells = entity
        .methods
        .iter()
        .filter_map(|method| tell_method(entity, method));
    let quiet = quiet();
    quote! {
        #types
        #conversions

        #quiet
        impl #reference {
            #(#asks)*

            /// The same messages, sent without waiting for them to be handled.
            pub fn tell(&self) -> #tell<'_> {
                #tell(&self.0)
            }

            /// The same way, with another time limit for asks.
            #[must_use]
            pub fn within(self, timeout: ::core::time::Duration) -> Self {
                Self(::ostrakon::EntityRef::<#ty>::within(self.0, timeout))
            }

            /// The entity's id; `None` if the ref was made with one that cannot be used.
            pub fn id(&self) -> ::core::option::Option<&::ostrakon::EntityId> {
                ::ostrakon::EntityRef::<#ty>::id(&self.0)
            }
        }

        #quiet
        impl #tell<'_> {
            #(#tells)*
        }
    }
}

fn types(entity: &EntityImpl) -> TokenStream {
    let ty = &entity.ty;
    let name = entity.name();
    let (reference, tell) = (entity.generated("Ref"), entity.generated("Tell"));
    let reference_doc = format!("Reaches one [`{name}`], wherever it is.");
    let tell_doc = format!("Tells one [`{name}`] something and waits for no answer.");
    let quiet = quiet();
    let hidden = hidden(entity);
    quote! {
        #[doc = #reference_doc]
        #hidden
        #quiet
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        pub struct #reference(::ostrakon::EntityRef<#ty>);

        #[doc = #tell_doc]
        #hidden
        #quiet
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        pub struct #tell<'r>(&'r ::ostrakon::EntityRef<#ty>);
    }
}

fn conversions(entity: &EntityImpl) -> TokenStream {
    let ty = &entity.ty;
    let reference = entity.generated("Ref");
    quote! {
        impl ::core::convert::From<::ostrakon::EntityRef<#ty>> for #reference {
            fn from(entity: ::ostrakon::EntityRef<#ty>) -> Self {
                Self(entity)
            }
        }

        impl ::core::convert::AsRef<::ostrakon::EntityRef<#ty>> for #reference {
            fn as_ref(&self) -> &::ostrakon::EntityRef<#ty> {
                &self.0
            }
        }
    }
}

fn ask(entity: &EntityImpl, method: &Method) -> TokenStream {
    let head = head(method);
    let ty = &method.answer.ty;
    let (this, reply) = (this(ty.span()), local("reply", ty.span()));
    let message = message(entity, method, &quote!(#reply));
    match &method.answer.form {
        Form::Value => quote_spanned! {ty.span()=>
            #head -> ::core::result::Result<#ty, ::ostrakon::AskError> {
                #this.0.ask(|#reply| #message).await
            }
        },
        Form::Outcome { value, error } => {
            let asked = local("asked", error.span());
            quote_spanned! {error.span()=>
                #head -> ::core::result::Result<#value, ::ostrakon::AskError<#error>> {
                    let #asked = #this.0.ask(|#reply| #message).await;
                    ::ostrakon::AskError::flatten::<#value, #error>(#asked)
                }
            }
        }
        Form::Stream => quote_spanned! {ty.span()=>
            #head -> ::core::result::Result<::ostrakon::EntityStream<#ty>, ::ostrakon::AskError> {
                #this.0.stream(|#reply| #message).await
            }
        },
    }
}

fn tell_method(entity: &EntityImpl, method: &Method) -> Option<TokenStream> {
    if let Form::Stream = method.answer.form {
        return None;
    }
    let head = head(method);
    let ignored = quote_spanned!(method.reply.span()=> ::ostrakon::Reply::ignored());
    let message = message(entity, method, &ignored);
    Some(quote! {
        #head -> ::core::result::Result<(), ::ostrakon::TellError> {
            self.0.tell(#message).await
        }
    })
}

/// Attributes and signature up to the return type.
fn head(method: &Method) -> TokenStream {
    let Method { name, vis, .. } = method;
    let (cfg, docs) = (&method.attributes.cfg, &method.attributes.docs);
    let arguments = method.arguments().map(|(name, ty)| quote!(#name: #ty));
    quote! {
        #(#cfg)*
        #(#docs)*
        #vis async fn #name(&self, #(#arguments),*)
    }
}

/// The message of a method, made of variables that are called like its arguments.
pub(super) fn message(entity: &EntityImpl, method: &Method, reply: &TokenStream) -> TokenStream {
    let enum_name = entity.generated("Message");
    let variant = &method.variant;
    let names = method.arguments().map(|(name, _)| name);
    let field = &method.reply;
    quote!(#enum_name::#variant { #(#names,)* #field: #reply })
}
