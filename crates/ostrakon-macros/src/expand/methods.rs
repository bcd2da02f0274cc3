//! The `Methods` impl: the same messages, by the names of their methods.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, Ident, Meta, ext::IdentExt, spanned::Spanned};

use super::{local, quiet, refs};
use crate::parse::{EntityImpl, Form, Method};

pub(super) fn methods(entity: &EntityImpl) -> TokenStream {
    let ty = &entity.ty;
    let (list, method, caller) = (here("list"), here("method"), here("caller"));
    let listed = entity.methods.iter().map(listed);
    let arms = entity.methods.iter().map(|method| arm(entity, method));
    let quiet = quiet();
    // A type's name has no hygiene: this one must not be an argument's type.
    let generic = Ident::new("__OstrakonMethodCaller", Span::call_site());
    quote! {
        #quiet
        impl ::ostrakon::Methods for #ty {
            fn list(#list: &mut impl ::ostrakon::MethodList) {
                #(#listed)*
            }

            fn call<#generic: ::ostrakon::MethodCaller<Self>>(
                #method: &::core::primitive::str,
                #[allow(unused_mut)] mut #caller: #generic,
            ) -> ::core::result::Result<#generic::Called, #generic::Refused> {
                match #method {
                    #(#arms)*
                    _ => ::core::result::Result::Err(::ostrakon::MethodCaller::<Self>::unknown(#caller)),
                }
            }
        }
    }
}

fn listed(method: &Method) -> TokenStream {
    let cfg = &method.attributes.cfg;
    let list = here("list");
    let arguments = method.arguments().map(|(name, ty)| {
        let name = text(name);
        quote_spanned!(ty.span()=> ::ostrakon::MethodList::argument::<#ty>(#list, #name);)
    });
    let (name, docs) = (text(&method.name), docs(method));
    let ty = &method.answer.ty;
    let answer = match &method.answer.form {
        Form::Value => quote_spanned!(ty.span()=> value::<#ty>),
        Form::Outcome { value, error } => quote_spanned!(ty.span()=> outcome::<#value, #error>),
        Form::Stream => quote_spanned!(ty.span()=> items::<#ty>),
    };
    quote! {
        #(#cfg)*
        {
            #(#arguments)*
            ::ostrakon::MethodList::#answer(#list, #name, #docs);
        }
    }
}

fn arm(entity: &EntityImpl, method: &Method) -> TokenStream {
    let cfg = &method.attributes.cfg;
    let (name, caller) = (text(&method.name), here("caller"));
    let arguments = method.arguments().map(|(name, ty)| {
        let wanted = text(name);
        quote_spanned! {ty.span()=>
            let #name = ::ostrakon::MethodCaller::<Self>::argument::<#ty>(&mut #caller, #wanted)?;
        }
    });
    let ty = &method.answer.ty;
    let reply = local("reply", ty.span());
    let message = refs::message(entity, method, &quote!(#reply));
    let called = match &method.answer.form {
        Form::Value => quote_spanned!(ty.span()=> value::<#ty>),
        Form::Outcome { value, error } => quote_spanned!(ty.span()=> outcome::<#value, #error>),
        Form::Stream => quote_spanned!(ty.span()=> items::<#ty>),
    };
    quote! {
        #(#cfg)*
        #name => {
            #(#arguments)*
            ::ostrakon::MethodCaller::<Self>::#called(#caller, move |#reply| #message)
        }
    }
}

/// The docs of a method as one text.
fn docs(method: &Method) -> TokenStream {
    let lines = method.attributes.docs.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        Some(&pair.value)
    });
    let lines: Vec<&Expr> = lines.collect();
    quote!(::core::concat!(#(#lines, "\n"),*))
}

/// How people write it, also where Rust needs `r#` before it.
fn text(name: &Ident) -> String {
    name.unraw().to_string()
}

fn here(name: &str) -> Ident {
    local(name, Span::call_site())
}
