//! `AdminKeys`: where operators look, and what lets them change something.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use ostrakon_admin::Token;
use serde::Deserialize;

/// The table `[admin]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AdminKeys {
    /// Where the dashboard and the admin API are
    #[arg(
        id = "admin_listen",
        long = "admin-listen",
        value_name = "HOST:PORT",
        env = "OSTRAKON_ADMIN_LISTEN"
    )]
    pub(crate) listen: Option<String>,
    /// The file with the token that lets its bearer change things; or set OSTRAKON_ADMIN_TOKEN
    #[arg(
        long = "admin-token-file",
        value_name = "FILE",
        env = "OSTRAKON_ADMIN_TOKEN_FILE"
    )]
    pub(crate) token_file: Option<PathBuf>,
}

impl AdminKeys {
    /// These, and the others where these say nothing.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            token_file: self.token_file.or(other.token_file),
        }
    }
}

/// The token that is in the file, or in the environment if there is no file.
pub(crate) fn token(file: Option<&Path>) -> anyhow::Result<Option<Token>> {
    match (file, env::var("OSTRAKON_ADMIN_TOKEN")) {
        (Some(file), _) => Ok(Some(Token::read(file).context("admin.token_file")?)),
        (None, Ok(text)) => Ok(Some(Token::new(&text).context("OSTRAKON_ADMIN_TOKEN")?)),
        (None, Err(_)) => Ok(None),
    }
}
