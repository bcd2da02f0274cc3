//! One message: a method that can be called through the ref.

use proc_macro2::Span;
use quote::format_ident;
use syn::{
    Attribute, FnArg, Ident, ImplItemFn, Pat, PatType, Path, Receiver, ReceiverKind, ReturnType,
    Safety, Signature, Type, Visibility, ext::IdentExt, spanned::Spanned,
};

use super::{answer::Answer, errors::Errors, role::Redelivery, types};

/// What the generated ref has already.
const TAKEN: [&str; 6] = ["tell", "within", "id", "as_ref", "clone", "from"];

/// A method that is a message.
pub(crate) struct Method {
    pub(crate) name: Ident,
    /// The message's name.
    pub(crate) variant: Ident,
    pub(crate) vis: Visibility,
    pub(crate) attributes: Attributes,
    /// All parameters behind the receiver, in their order.
    pub(crate) params: Vec<Param>,
    pub(crate) answer: Answer,
    /// The name of the message's reply: none of the arguments has it.
    pub(crate) reply: Ident,
    pub(crate) redelivery: Redelivery,
}

/// What the generated code repeats of a method's attributes.
pub(crate) struct Attributes {
    pub(crate) cfg: Vec<Attribute>,
    pub(crate) docs: Vec<Attribute>,
}

pub(crate) enum Param {
    Context,
    Argument { name: Ident, ty: Box<Type> },
}

impl Method {
    /// Reads a message. A stream's return type is completed in place.
    pub(super) fn parse(
        function: &mut ImplItemFn,
        entity: &Path,
        redelivery: Redelivery,
        errors: &mut Errors,
    ) -> Option<Self> {
        let sig = &function.sig;
        let name = sig.ident.clone();
        check_signature(sig, errors);
        if let Some(receiver) = sig.receiver() {
            check_receiver(receiver, errors);
        }
        if TAKEN.iter().any(|taken| name == taken) {
            errors.push(
                &name,
                format!("the ref has a method `{name}` of its own: choose another name"),
            );
        }
        let params = params(sig, entity, errors);
        let answer = Answer::parse(sig, entity, errors);
        if let ReturnType::Type(_, output) = &mut function.sig.output {
            types::detach_stream(output);
        }
        let answer = answer?;
        Some(Self {
            variant: variant(&name),
            vis: function.vis.clone(),
            attributes: Attributes::of(function),
            reply: free_name(&params, answer.ty.span()),
            params,
            answer,
            redelivery,
            name,
        })
    }

    /// The message's fields except the reply.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&Ident, &Type)> {
        self.params.iter().filter_map(|param| match param {
            Param::Context => None,
            Param::Argument { name, ty } => Some((name, &**ty)),
        })
    }
}

impl Attributes {
    pub(super) fn of(function: &ImplItemFn) -> Self {
        let named = |name: &str| {
            let attrs = function.attrs.iter();
            attrs
                .filter(|attr| attr.path().is_ident(name))
                .cloned()
                .collect()
        };
        Self {
            cfg: named("cfg"),
            docs: named("doc"),
        }
    }
}

/// Reports what neither a message nor a hook can be.
pub(super) fn check_signature(sig: &Signature, errors: &mut Errors) {
    const PLAIN: &str = "the runtime calls this method, so it is a plain one: remove this, or mark the method `#[helper]`";
    match sig.safety {
        Safety::Unsafe(token) => errors.push(token, PLAIN),
        Safety::Safe(token) => errors.push(token, PLAIN),
        Safety::Default => {}
    }
    if let Some(token) = sig.constness {
        errors.push(token, PLAIN);
    }
    if let Some(abi) = &sig.abi {
        errors.push(abi, PLAIN);
    }
    if !sig.generics.params.is_empty() {
        errors.push(
            &sig.generics,
            "a message has one form on all nodes, so its method cannot be generic: name the types, or mark the method `#[helper]`",
        );
    }
}

pub(super) fn check_receiver(receiver: &Receiver, errors: &mut Errors) {
    let is_borrowed = if let ReceiverKind::Typed(_, ty) = &receiver.kind {
        matches!(&**ty, Type::Reference(_))
    } else {
        matches!(receiver.kind, ReceiverKind::Reference(..))
    };
    if !is_borrowed {
        errors.push(
            receiver,
            "the entity outlives the call: take `&mut self` or `&self`; to end it, call `ctx.stop()`",
        );
    }
}

fn params(sig: &Signature, entity: &Path, errors: &mut Errors) -> Vec<Param> {
    let mut params: Vec<Param> = Vec::new();
    for arg in &sig.inputs {
        let FnArg::Typed(arg) = arg else { continue };
        if types::is_context(&arg.ty, entity) {
            if params.iter().any(|param| matches!(param, Param::Context)) {
                errors.push(arg, "there is one context: take it once");
            }
            params.push(Param::Context);
        } else {
            params.extend(argument(arg, entity, errors));
        }
    }
    params
}

fn argument(arg: &PatType, entity: &Path, errors: &mut Errors) -> Option<Param> {
    if types::is_any_context(&arg.ty) {
        errors.push(
            &arg.ty,
            "this is not the context of this entity: take `&mut Context<Self>`",
        );
        return None;
    }
    types::check_travels(&arg.ty, "take", errors);
    let Pat::Ident(pattern) = &*arg.pat else {
        errors.push(
            &arg.pat,
            "an argument is a field of the message and needs a name: take it apart inside the method",
        );
        return None;
    };
    if let Some(by_ref) = pattern.by_ref {
        errors.push(by_ref, "an argument is given by value: remove `ref`");
    }
    Some(Param::Argument {
        name: pattern.ident.clone(),
        ty: Box::new(types::without_self((*arg.ty).clone(), entity)),
    })
}

/// `set_balance` becomes `SetBalance`.
fn variant(name: &Ident) -> Ident {
    let text = name.unraw().to_string();
    let words = text.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    });
    let camel: String = words.collect();
    let usable = syn::parse_str::<Ident>(&camel).is_ok();
    let prefix = if usable { "" } else { "Message" };
    format_ident!("{prefix}{camel}", span = name.span())
}

/// The reply's name. It is shown where the answer's type is, because what is wrong with a reply is wrong with that.
fn free_name(params: &[Param], place: Span) -> Ident {
    let is_taken = |wanted: &Ident| {
        let is_it = |param: &Param| matches!(param, Param::Argument { name, .. } if name == wanted);
        params.iter().any(is_it)
    };
    let mut name = Ident::new("reply", place);
    while is_taken(&name) {
        name = format_ident!("{name}_");
    }
    name
}
