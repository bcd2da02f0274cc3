//! What was written: an `impl` block, read and checked.
//!
//! [`EntityImpl`] holds all that the expansion needs. A block with mistakes never becomes one: it is [`Rejected`], with
//! every mistake that was found and not only the first.

mod answer;
mod errors;
mod hook;
mod method;
mod options;
mod role;
mod types;

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident};
use syn::{Ident, ImplItem, ImplItemFn, Item, ItemImpl, Path, PathArguments, Type, Visibility};

pub(crate) use answer::{Answer, Form};
use errors::Errors;
pub(crate) use hook::Hook;
pub(crate) use method::{Method, Param};
use options::Options;
pub(crate) use role::Redelivery;
use role::Role;

/// An `impl` block that can become an entity.
pub(crate) struct EntityImpl {
    /// The block without this macro's attributes, and with streams that may outlive the call.
    pub(crate) item: ItemImpl,
    pub(crate) ty: Path,
    pub(crate) kind: String,
    /// The variant of `Codec`, if one was chosen.
    pub(crate) codec: Option<Ident>,
    pub(crate) methods: Vec<Method>,
    pub(crate) start: Option<Hook>,
    pub(crate) stop: Option<Hook>,
}

/// An item that cannot become an entity.
pub(crate) struct Rejected {
    /// What was written, kept so that a mistake in one method does not make all others unknown.
    item: TokenStream,
    error: syn::Error,
}

impl Rejected {
    pub(crate) fn into_tokens(self) -> TokenStream {
        let mut tokens = self.item;
        tokens.extend(self.error.into_compile_error());
        tokens
    }
}

impl EntityImpl {
    pub(crate) fn parse(options: TokenStream, item: TokenStream) -> Result<Self, Rejected> {
        let mut errors = Errors::default();
        let mut item = inherent_impl(item)?;
        let ty = entity_type(&item, &mut errors);
        let options = Options::parse(options, &mut errors);
        let mut found = Found::default();
        for part in &mut item.items {
            if let ImplItem::Fn(function) = part {
                found.read(function, &ty, &mut errors);
            }
        }
        found.check_variants(&mut errors);
        if found.has_no_message {
            errors.push(
                &item.self_ty,
                "this entity has no message: write an `async fn` that takes `&self` or `&mut self`",
            );
        }
        let kind = options.kind_of(&ty, &mut errors);
        match errors.into_result() {
            Err(error) => Err(Rejected {
                item: item.into_token_stream(),
                error,
            }),
            Ok(()) => Ok(Self {
                item,
                ty,
                kind,
                codec: options.codec,
                methods: found.methods,
                start: found.start,
                stop: found.stop,
            }),
        }
    }

    /// The entity's own name.
    pub(crate) fn name(&self) -> &Ident {
        last_ident(&self.ty)
    }

    /// The name of a generated type.
    pub(crate) fn generated(&self, suffix: &str) -> Ident {
        format_ident!("{}{suffix}", self.name())
    }

    /// Whether people outside the module can call any of the messages.
    pub(crate) fn is_public(&self) -> bool {
        self.methods
            .iter()
            .any(|method| matches!(method.vis, Visibility::Public(_)))
    }
}

/// What the functions of a block turned out to be.
struct Found {
    methods: Vec<Method>,
    start: Option<Hook>,
    stop: Option<Hook>,
    /// Also a faulty message is one: it has its own error already.
    has_no_message: bool,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            start: None,
            stop: None,
            has_no_message: true,
        }
    }
}

impl Found {
    fn read(&mut self, function: &mut ImplItemFn, ty: &Path, errors: &mut Errors) {
        match Role::take(function, errors) {
            Role::Start => {
                let hook = Hook::start(function, ty, errors);
                Self::keep_one(&mut self.start, hook, "#[start]", errors);
            }
            Role::Stop => {
                let hook = Hook::stop(function, ty, errors);
                Self::keep_one(&mut self.stop, hook, "#[stop]", errors);
            }
            Role::Message(redelivery) => {
                self.has_no_message = false;
                self.methods
                    .extend(Method::parse(function, ty, redelivery, errors));
            }
            Role::Plain => {}
        }
    }

    fn keep_one(place: &mut Option<Hook>, hook: Option<Hook>, role: &str, errors: &mut Errors) {
        let Some(hook) = hook else { return };
        if place.is_some() {
            errors.push(
                &hook.name,
                format!("an entity has one `{role}` hook: do both things in the first one"),
            );
        }
        place.get_or_insert(hook);
    }

    fn check_variants(&self, errors: &mut Errors) {
        // Of methods with a `cfg`, as many may have one name as there are configurations.
        let always = self.methods.iter().filter(|m| m.attributes.cfg.is_empty());
        let mut known = HashMap::new();
        for method in always {
            if let Some(first) = known.insert(method.variant.to_string(), &method.name) {
                errors.push(
                    &method.name,
                    format!(
                        "`{first}` and `{}` are the same message `{}`: choose names that differ in more than underscores",
                        method.name, method.variant
                    ),
                );
            }
        }
    }
}

fn inherent_impl(tokens: TokenStream) -> Result<ItemImpl, Rejected> {
    let reject = |error| Rejected {
        item: tokens.clone(),
        error,
    };
    let item = syn::parse2::<Item>(tokens.clone()).map_err(reject)?;
    let message = if let Item::Impl(item) = item {
        if item.trait_.is_none() {
            return Ok(item);
        }
        "`#[entity]` cannot be put on the impl of a trait: put it on the type's own `impl` block, or implement `ostrakon::Entity` by hand"
    } else {
        "`#[entity]` goes on the `impl` block with the entity's methods"
    };
    let head = tokens.clone().into_iter().next();
    Err(reject(syn::Error::new_spanned(head, message)))
}

/// The path of the type the block is for.
fn entity_type(item: &ItemImpl, errors: &mut Errors) -> Path {
    let generic = "an entity cannot be generic, because its kind stands for one type on all nodes: wrap it in a type without parameters, such as `struct Words(List<String>)`";
    if !item.generics.params.is_empty() {
        errors.push(&item.generics, generic);
    }
    if let Type::Path(path) = &*item.self_ty
        && path.qself.is_none()
    {
        let arguments = path.path.segments.last().map(|last| &last.arguments);
        if item.generics.params.is_empty() && arguments.is_some_and(|a| !a.is_empty()) {
            errors.push(arguments, generic);
        }
        let mut path = path.path.clone();
        if let Some(last) = path.segments.last_mut() {
            last.arguments = PathArguments::None;
        }
        return path;
    }
    errors.push(
        &item.self_ty,
        "an entity is a struct or an enum of this crate: write its name here",
    );
    format_ident!("Entity").into()
}

fn last_ident(path: &Path) -> &Ident {
    &path.segments.last().expect("a path has a segment").ident
}
