//! What stands in the attribute's brackets: `kind` and `codec`.

use proc_macro2::TokenStream;
use syn::{
    Expr, ExprLit, Ident, Lit, LitStr, Meta, Path, Token, ext::IdentExt, parse::Parser,
    punctuated::Punctuated,
};

use super::{errors::Errors, last_ident};

const USAGE: &str =
    "write `#[entity]`, `#[entity(kind = \"account\")]` or `#[entity(codec = \"json\")]`";

#[derive(Default)]
pub(super) struct Options {
    kind: Option<LitStr>,
    pub(super) codec: Option<Ident>,
}

impl Options {
    pub(super) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens) {
            Ok(written) => written
                .iter()
                .for_each(|option| options.read(option, errors)),
            Err(error) => errors.add(syn::Error::new(error.span(), USAGE)),
        }
        options
    }

    fn read(&mut self, option: &Meta, errors: &mut Errors) {
        let path = option.path();
        if !path.is_ident("kind") && !path.is_ident("codec") {
            errors.push(path, format!("unknown option: {USAGE}"));
            return;
        }
        let Some(text) = text_of(option) else {
            errors.push(option, format!("this option is a text: {USAGE}"));
            return;
        };
        let is_repeated = if path.is_ident("kind") {
            self.kind.replace(text).is_some()
        } else {
            let codec = codec(&text, errors);
            codec.is_some_and(|codec| self.codec.replace(codec).is_some())
        };
        if is_repeated {
            errors.push(option, "this option is given twice: keep one of them");
        }
    }

    /// The kind that was written, or else the one that follows from the type's name.
    pub(super) fn kind_of(&self, ty: &Path, errors: &mut Errors) -> String {
        let name = last_ident(ty).unraw();
        let (kind, place) = match &self.kind {
            Some(kind) => (kind.value(), kind.span()),
            None => (snake_case(&name.to_string()), name.span()),
        };
        if !is_kind(&kind) {
            let message = format!(
                "`{kind}` cannot be a kind: it has 1 to 128 characters, a letter a-z and then a-z, 0-9, `_`, `.` and `-`, as in `#[entity(kind = \"account\")]`"
            );
            errors.add(syn::Error::new(place, message));
        }
        kind
    }
}

fn text_of(option: &Meta) -> Option<LitStr> {
    if let Meta::NameValue(pair) = option
        && let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &pair.value
    {
        return Some(text.clone());
    }
    None
}

fn codec(text: &LitStr, errors: &mut Errors) -> Option<Ident> {
    let variant = match text.value().as_str() {
        "messagepack" => "MessagePack",
        "postcard" => "Postcard",
        "json" => "Json",
        _ => {
            errors.push(
                text,
                "unknown codec: choose \"messagepack\", \"postcard\" or \"json\"",
            );
            return None;
        }
    };
    Some(Ident::new(variant, text.span()))
}

/// The same rule as the runtime's `EntityKind`, which checks again what was written by hand.
fn is_kind(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(allowed)
}

/// `HttpServer` and `HTTPServer` are both `http_server`.
fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.trim_start_matches('_').chars().collect();
    let mut snake = String::new();
    for (at, c) in chars.iter().enumerate() {
        let after = at.checked_sub(1).map(|at| chars[at]);
        let starts_word = c.is_uppercase()
            && after.is_some_and(|before| {
                before != '_'
                    && (!before.is_uppercase()
                        || chars.get(at + 1).is_some_and(|next| next.is_lowercase()))
            });
        if starts_word {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_s_name_becomes_a_kind() {
        let names = [
            "Account",
            "HttpServer",
            "HTTPServer",
            "Room2B",
            "_Hidden",
            "My_Type",
        ];
        let kinds = names.map(snake_case);
        let expected = [
            "account",
            "http_server",
            "http_server",
            "room2_b",
            "hidden",
            "my_type",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_kind_follows_the_rule_of_entity_kinds() {
        let longest = "k".repeat(128);
        for good in ["a", "guild", "a.b-c_9", longest.as_str()] {
            assert!(is_kind(good), "{good}");
        }
        let too_long = "k".repeat(129);
        for bad in ["", "Guild", "9a", "_a", "a b", "é", too_long.as_str()] {
            assert!(!is_kind(bad), "{bad}");
        }
    }
}
