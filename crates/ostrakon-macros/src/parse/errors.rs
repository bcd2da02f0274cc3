//! Collects mistakes, so that people see all of them at once.

use std::fmt::Display;

use quote::ToTokens;

#[derive(Default)]
pub(super) struct Errors(Option<syn::Error>);

impl Errors {
    /// Notes a mistake at `place`.
    pub(super) fn push(&mut self, place: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(place, message));
    }

    pub(super) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            None => self.0 = Some(error),
            Some(first) => first.combine(error),
        }
    }

    pub(super) fn into_result(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
