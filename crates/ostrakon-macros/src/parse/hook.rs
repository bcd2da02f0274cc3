//! The `#[start]` and `#[stop]` hooks of an entity.

use proc_macro2::Span;
use syn::{FnArg, Ident, ImplItemFn, Path, ReturnType, spanned::Spanned};

use super::{
    errors::Errors,
    method::{self, Attributes},
    types,
};

pub(crate) struct Hook {
    pub(crate) name: Ident,
    pub(crate) attributes: Attributes,
    pub(crate) takes_context: bool,
    /// As written, `()` or a `Result`.
    pub(crate) output: ReturnType,
}

impl Hook {
    pub(super) fn start(function: &ImplItemFn, ty: &Path, errors: &mut Errors) -> Option<Self> {
        Self::parse(function, ty, errors)
    }

    pub(super) fn stop(function: &ImplItemFn, ty: &Path, errors: &mut Errors) -> Option<Self> {
        let output = &function.sig.output;
        if !types::is_unit(output) {
            errors.push(
                output,
                "nobody waits for what a stop hook returns: return nothing, and log what went wrong",
            );
        }
        Self::parse(function, ty, errors)
    }

    fn parse(function: &ImplItemFn, ty: &Path, errors: &mut Errors) -> Option<Self> {
        let sig = &function.sig;
        if sig.asyncness.is_none() {
            errors.push(sig.fn_token, "a hook is an `async fn`: add `async`");
        }
        method::check_signature(sig, errors);
        let Some(receiver) = sig.receiver() else {
            errors.push(&sig.ident, "a hook takes `&mut self`");
            return None;
        };
        method::check_receiver(receiver, errors);
        let (contexts, others): (Vec<&FnArg>, Vec<&FnArg>) =
            sig.inputs.iter().skip(1).partition(
                |arg| matches!(arg, FnArg::Typed(arg) if types::is_context(&arg.ty, ty)),
            );
        for other in others.iter().chain(contexts.iter().skip(1)) {
            errors.push(
                other,
                "a hook takes `&mut self` and at most `ctx: &mut Context<Self>`: the runtime calls it and has nothing else to give",
            );
        }
        Some(Self {
            name: sig.ident.clone(),
            attributes: Attributes::of(function),
            takes_context: !contexts.is_empty(),
            output: sig.output.clone(),
        })
    }

    /// Where the error's type is written.
    pub(crate) fn failure_span(&self) -> Span {
        let ReturnType::Type(_, output) = &self.output else {
            return self.name.span();
        };
        let error = types::result_parts(output).map(|(_, error)| error);
        error.unwrap_or(output).span()
    }

    pub(crate) fn is_infallible(&self) -> bool {
        types::is_unit(&self.output)
    }
}
