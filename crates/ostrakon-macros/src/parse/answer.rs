//! What a message brings back: a value, a `Result` or a stream.

use syn::{Path, ReturnType, Signature, Type, parse_quote_spanned};

use super::{errors::Errors, types};

/// What comes back.
pub(crate) struct Answer {
    /// What travels: the whole return type, or the type of a stream's items.
    pub(crate) ty: Type,
    pub(crate) form: Form,
}

pub(crate) enum Form {
    Value,
    /// A `Result<value, error>`.
    Outcome {
        value: Box<Type>,
        error: Box<Type>,
    },
    Stream,
}

impl Answer {
    pub(super) fn parse(sig: &Signature, entity: &Path, errors: &mut Errors) -> Option<Self> {
        let ReturnType::Type(_, output) = &sig.output else {
            let ty = parse_quote_spanned!(sig.ident.span()=> ());
            return Some(Self {
                ty,
                form: Form::Value,
            });
        };
        if types::returns_stream(&sig.output) {
            return Self::stream(sig, output, entity, errors);
        }
        types::check_travels(output, "return", errors);
        let ty = types::without_self((**output).clone(), entity);
        let form = types::result_parts(&ty).map_or(Form::Value, |(value, error)| Form::Outcome {
            value: Box::new(value.clone()),
            error: Box::new(error.clone()),
        });
        Some(Self { ty, form })
    }

    fn stream(sig: &Signature, output: &Type, entity: &Path, errors: &mut Errors) -> Option<Self> {
        if let Some(token) = sig.asyncness {
            errors.push(
                token,
                "a streaming method gives its stream at once: remove `async`",
            );
        }
        let Some(item) = types::stream_item(output) else {
            errors.push(output, "say what the items are: `impl Stream<Item = …>`");
            return None;
        };
        types::check_travels(item, "return", errors);
        Some(Self {
            ty: types::without_self(item.clone(), entity),
            form: Form::Stream,
        })
    }
}
