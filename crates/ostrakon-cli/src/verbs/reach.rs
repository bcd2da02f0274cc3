//! `Reach`: how to reach a manager, and as whom.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ostrakon_admin::Token;
use ostrakon_tls::{Files, Security};

use super::client::Client;

/// How to reach a manager, and as whom.
#[derive(Args, Debug)]
pub(crate) struct Reach {
    /// The admin API of a manager, or of a peer
    #[arg(
        long,
        visible_alias = "peer",
        value_name = "URL",
        env = "OSTRAKON_ADMIN",
        default_value = "http://127.0.0.1:9471",
        global = true
    )]
    manager: String,
    /// The admin token, which changes need
    #[arg(
        long,
        value_name = "TOKEN",
        env = "OSTRAKON_ADMIN_TOKEN",
        hide_env_values = true,
        global = true
    )]
    token: Option<String>,
    /// The file that has it
    #[arg(
        long,
        value_name = "FILE",
        env = "OSTRAKON_ADMIN_TOKEN_FILE",
        global = true
    )]
    token_file: Option<PathBuf>,
    /// For https: the folder with ca.pem and your certificate
    #[arg(
        long,
        value_name = "DIR",
        env = "OSTRAKON_CERTS",
        default_value = "certs",
        global = true
    )]
    certs: PathBuf,
    /// For https: whose certificate to show, as in `ostrakon certs admin NAME`
    #[arg(long = "as", value_name = "NAME", env = "OSTRAKON_AS", global = true)]
    name: Option<String>,
    /// Print the answer as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Reach {
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let wrong = || {
            format!(
                "--manager {:?} is no address: write http://HOST:PORT or https://HOST:PORT",
                self.manager
            )
        };
        let (scheme, rest) = self.manager.split_once("://").with_context(wrong)?;
        let address = rest.trim_end_matches('/');
        let has_port = address
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !has_port || address.contains('/') {
            bail!(wrong());
        }
        let security = match (scheme, &self.name) {
            ("http", _) => Security::plaintext(),
            ("https", Some(name)) => Security::tls(Files::in_dir(&self.certs, name))?,
            ("https", None) => bail!(
                "https needs a certificate: say whose with --as NAME, and where with --certs DIR"
            ),
            _ => bail!(wrong()),
        };
        Ok(Client {
            address: address.to_owned(),
            security,
            token: self.token()?,
        })
    }

    fn token(&self) -> anyhow::Result<Option<Token>> {
        match (&self.token, &self.token_file) {
            (Some(token), _) => Ok(Some(Token::new(token)?)),
            (None, Some(file)) => Ok(Some(Token::read(file)?)),
            (None, None) => Ok(None),
        }
    }
}
