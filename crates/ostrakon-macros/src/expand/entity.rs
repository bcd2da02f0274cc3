//! The `Entity` impl: takes messages apart and calls the user's methods.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, spanned::Spanned};

use super::{local, quiet, this};
use crate::parse::{EntityImpl, Form, Hook, Method, Param, Redelivery};

pub(super) fn entity(entity: &EntityImpl) -> TokenStream {
    let EntityImpl { ty, kind, .. } = entity;
    let (message, reference) = (entity.generated("Message"), entity.generated("Ref"));
    let codec = entity
        .codec
        .as_ref()
        .map(|codec| quote!(const CODEC: ::ostrakon::Codec = ::ostrakon::Codec::#codec;));
    let handle = handle(entity);
    let start = entity.start.as_ref().map(start);
    let stop = entity.stop.as_ref().map(stop);
    let redeliver = redeliver(entity);
    let quiet = quiet();
    quote! {
        #quiet
        impl ::ostrakon::Entity for #ty {
            const KIND: &'static ::core::primitive::str = #kind;
            #codec
            type Message = #message;
            type Ref = #reference;
            #handle
            #start
            #stop
            #redeliver
        }
    }
}

fn handle(entity: &EntityImpl) -> TokenStream {
    let (message, ctx) = (local("message", Span::call_site()), context());
    let enum_name = entity.generated("Message");
    let arms = entity.methods.iter().map(|method| arm(&enum_name, method));
    quote! {
        async fn handle(
            &mut self,
            #message: #enum_name,
            #ctx: &mut ::ostrakon::Context<Self>,
        ) -> ::core::result::Result<(), ::ostrakon::Failure> {
            match #message {
                #(#arms)*
            }
            ::core::result::Result::Ok(())
        }
    }
}

fn arm(message: &Ident, method: &Method) -> TokenStream {
    let Method {
        name,
        variant,
        reply,
        ..
    } = method;
    let cfg = &method.attributes.cfg;
    let names = method.arguments().map(|(name, _)| name);
    let ctx = context();
    let place = method.answer.ty.span();
    let answer = local("reply", place);
    let this = this(name.span());
    let params = method.params.iter().map(|param| match param {
        Param::Context => &ctx,
        Param::Argument { name, .. } => name,
    });
    let call = quote_spanned!(name.span()=> Self::#name(#this, #(#params),*));
    let body = match &method.answer.form {
        Form::Value | Form::Outcome { .. } => {
            let call = awaited(name, &call);
            quote_spanned!(place=> ::ostrakon::Reply::send(#answer, #call);)
        }
        Form::Stream => quote_spanned! {place=>
            #ctx.spawn(::ostrakon::StreamReply::forward(#answer, #call));
        },
    };
    quote! {
        #(#cfg)*
        #message::#variant { #(#names,)* #reply: #answer } => {
            #body
        }
    }
}

fn start(hook: &Hook) -> TokenStream {
    let cfg = &hook.attributes.cfg;
    let (ctx, call) = (context(), hook_call(hook));
    let body = if hook.is_infallible() {
        quote! {
            #call;
            ::core::result::Result::Ok(())
        }
    } else {
        quote_spanned! {hook.failure_span()=>
            ::core::result::Result::map_err(#call, ::core::convert::Into::into)
        }
    };
    quote! {
        #(#cfg)*
        async fn start(
            &mut self,
            #ctx: &mut ::ostrakon::Context<Self>,
        ) -> ::core::result::Result<(), ::ostrakon::Failure> {
            #body
        }
    }
}

fn stop(hook: &Hook) -> TokenStream {
    let cfg = &hook.attributes.cfg;
    let (ctx, call) = (context(), hook_call(hook));
    quote! {
        #(#cfg)*
        async fn stop(&mut self, #ctx: &mut ::ostrakon::Context<Self>) {
            #call
        }
    }
}

fn hook_call(hook: &Hook) -> TokenStream {
    let (name, this) = (&hook.name, this(hook.name.span()));
    let ctx = hook.takes_context.then(context);
    awaited(
        name,
        &quote_spanned!(name.span()=> Self::#name(#this, #ctx)),
    )
}

/// Waits for a call. Asks for `Send` right here, so that what is not `Send` is reported at its method and not at the entity.
fn awaited(method: &Ident, call: &TokenStream) -> TokenStream {
    quote_spanned!(method.span()=> ::ostrakon::generated::sendable(#call).await)
}

fn redeliver(entity: &EntityImpl) -> Option<TokenStream> {
    let is_idempotent = |method: &Method| method.redelivery == Redelivery::Idempotent;
    if !entity.methods.iter().any(is_idempotent) {
        return None;
    }
    let message = entity.generated("Message");
    let arms = entity.methods.iter().map(|method| {
        let variant = &method.variant;
        let cfg = &method.attributes.cfg;
        let copy = match method.redelivery {
            Redelivery::Never => {
                quote!(#message::#variant { .. } => ::core::option::Option::None,)
            }
            Redelivery::Idempotent => copy(&message, method),
        };
        quote!(#(#cfg)* #copy)
    });
    let original = local("message", Span::call_site());
    Some(quote! {
        fn redeliver(#original: &#message) -> ::core::option::Option<#message> {
            match #original {
                #(#arms)*
            }
        }
    })
}

fn copy(message: &Ident, method: &Method) -> TokenStream {
    let Method { variant, reply, .. } = method;
    let names = method.arguments().map(|(name, _)| name);
    let copies = method.arguments().map(
        |(name, ty)| quote_spanned!(ty.span()=> #name: <#ty as ::core::clone::Clone>::clone(#name)),
    );
    let original = local("reply", reply.span());
    quote! {
        #message::#variant { #(#names,)* #reply: #original } => {
            ::core::option::Option::Some(#message::#variant {
                #(#copies,)*
                #reply: ::core::clone::Clone::clone(#original),
            })
        }
    }
}

fn context() -> Ident {
    local("ctx", Span::call_site())
}
