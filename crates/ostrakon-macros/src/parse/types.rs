//! Questions about types as they are written. A macro sees names and no meanings, so these are all by the look of it.

use quote::ToTokens;
use syn::{
    GenericArgument, Lifetime, Path, PathArguments, ReturnType, TraitBound, Type, TypeImplTrait,
    TypeParamBound, TypeReference, TypeSlice, parse_quote_spanned, spanned::Spanned,
    visit_mut::VisitMut,
};

use super::errors::Errors;

/// Reports what cannot travel in a message, for `verb` "take" (an argument) or "return" (an answer).
pub(super) fn check_travels(ty: &Type, verb: &str, errors: &mut Errors) {
    let mut found = Unsendable::default();
    found.visit_type_mut(&mut ty.clone());
    if let Some(reference) = found.reference {
        let owned = owned(&reference.elem);
        let borrowed = source(&Type::Reference(reference.clone()));
        errors.push(
            reference,
            format!("messages travel between nodes: {verb} `{owned}` instead of `{borrowed}`"),
        );
    } else if let Some(opaque) = found.opaque {
        errors.push(
            opaque,
            format!("messages travel between nodes: {verb} a named type instead of `impl …`"),
        );
    } else if let Some(lifetime) = found.lifetime {
        errors.push(
            lifetime,
            format!("messages travel between nodes: {verb} an owned type without a lifetime"),
        );
    }
}

/// The first part of a type that cannot be sent.
#[derive(Default)]
struct Unsendable {
    reference: Option<TypeReference>,
    opaque: Option<TypeImplTrait>,
    lifetime: Option<Lifetime>,
}

impl VisitMut for Unsendable {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        self.reference.get_or_insert_with(|| reference.clone());
    }

    fn visit_type_impl_trait_mut(&mut self, opaque: &mut TypeImplTrait) {
        self.opaque.get_or_insert_with(|| opaque.clone());
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            self.lifetime.get_or_insert_with(|| lifetime.clone());
        }
    }
}

/// The type to own instead of borrowing `borrowed`.
fn owned(borrowed: &Type) -> String {
    if let Type::Slice(TypeSlice { elem, .. }) = borrowed {
        return format!("Vec<{}>", source(elem));
    }
    let text = source(borrowed);
    match text.as_str() {
        "str" => "String".to_owned(),
        "Path" => "PathBuf".to_owned(),
        _ => text,
    }
}

/// The type as people write it: a token stream prints with a space between any two tokens.
fn source(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (spaced, tight) in [
        ("& ", "&"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ::", "::"),
        (":: ", "::"),
        (" ,", ","),
        ("' ", "'"),
    ] {
        text = text.replace(spaced, tight);
    }
    text
}

/// Whether this is `&Context<Self>` or `&mut Context<Self>`, with `Self` also by its name.
pub(super) fn is_context(ty: &Type, entity: &Path) -> bool {
    let Type::Reference(reference) = ty else {
        return false;
    };
    let arguments = arguments(&reference.elem, "Context");
    let Some([GenericArgument::Type(Type::Path(of))]) = arguments.as_deref() else {
        return false;
    };
    of.path.is_ident("Self") || super::last_ident(&of.path) == super::last_ident(entity)
}

/// Whether this borrows a context, of whatever.
pub(super) fn is_any_context(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference)
        if matches!(&*reference.elem, Type::Path(of) if super::last_ident(&of.path) == "Context"))
}

/// `T` and `E` of a `Result<T, E>`.
pub(super) fn result_parts(ty: &Type) -> Option<(&Type, &Type)> {
    match arguments(ty, "Result")?[..] {
        [GenericArgument::Type(value), GenericArgument::Type(error)] => Some((value, error)),
        _ => None,
    }
}

/// The generic arguments of `ty` if it is a path that ends in `name`.
fn arguments<'t>(ty: &'t Type, name: &str) -> Option<Vec<&'t GenericArgument>> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != name {
        return None;
    }
    match &last.arguments {
        PathArguments::AngleBracketed(brackets) => Some(brackets.args.iter().collect()),
        PathArguments::None | PathArguments::Parenthesized(_) => None,
    }
}

pub(super) fn is_unit(output: &ReturnType) -> bool {
    match output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()),
    }
}

pub(super) fn returns_stream(output: &ReturnType) -> bool {
    matches!(output, ReturnType::Type(_, ty) if stream_bound(ty).is_some())
}

fn stream_bound(ty: &Type) -> Option<&TraitBound> {
    let Type::ImplTrait(opaque) = ty else {
        return None;
    };
    opaque
        .bounds
        .iter()
        .find_map(|bound| bound_named(bound, "Stream"))
}

fn bound_named<'b>(bound: &'b TypeParamBound, name: &str) -> Option<&'b TraitBound> {
    if let TypeParamBound::Trait(bound) = bound
        && super::last_ident(&bound.path) == name
    {
        return Some(bound);
    }
    None
}

/// The `T` of an `impl Stream<Item = T>`.
pub(super) fn stream_item(ty: &Type) -> Option<&Type> {
    let last = stream_bound(ty)?.path.segments.last()?;
    let PathArguments::AngleBracketed(brackets) = &last.arguments else {
        return None;
    };
    brackets.args.iter().find_map(|argument| {
        if let GenericArgument::AssocType(item) = argument
            && item.ident == "Item"
        {
            return Some(&item.ty);
        }
        None
    })
}

/// Lets a returned stream outlive the call: it is sent to a task of its own.
pub(super) fn detach_stream(ty: &mut Type) {
    let Type::ImplTrait(opaque) = ty else { return };
    let span = opaque.span();
    let is_send = |bound: &TypeParamBound| bound_named(bound, "Send").is_some();
    let is_lifetime = |bound: &TypeParamBound| matches!(bound, TypeParamBound::Lifetime(_));
    let is_capture = |bound: &TypeParamBound| matches!(bound, TypeParamBound::PreciseCapture(_));
    let mut missing: Vec<TypeParamBound> = Vec::new();
    if !opaque.bounds.iter().any(is_send) {
        missing.push(parse_quote_spanned!(span=> ::core::marker::Send));
    }
    if !opaque.bounds.iter().any(is_lifetime) {
        missing.push(parse_quote_spanned!(span=> 'static));
    }
    if !opaque.bounds.iter().any(is_capture) {
        missing.push(parse_quote_spanned!(span=> use<>));
    }
    opaque.bounds.extend(missing);
}

/// `ty` with the entity's own name for `Self`, which means something else in the generated items.
pub(super) fn without_self(mut ty: Type, entity: &Path) -> Type {
    SelfNamed(entity).visit_type_mut(&mut ty);
    ty
}

struct SelfNamed<'e>(&'e Path);

impl VisitMut for SelfNamed<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        syn::visit_mut::visit_path_mut(self, path);
        if path
            .segments
            .first()
            .is_some_and(|first| first.ident == "Self")
        {
            let rest = path.segments.iter().skip(1).cloned();
            let segments = self.0.segments.iter().cloned().chain(rest).collect();
            let span = path.span();
            path.leading_colon = self.0.leading_colon;
            path.segments = segments;
            for segment in &mut path.segments {
                segment.ident.set_span(span);
            }
        }
    }
}
