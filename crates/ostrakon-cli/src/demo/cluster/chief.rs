//! `Chief`: a manager's process, as whoever started it sees it.

use anyhow::Context;
use ostrakon_tls::Role;

use super::{BEGINNING, Child, Site};
use crate::demo::{Options, options::Failover};

/// A manager's process.
pub(crate) struct Chief {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) child: Child,
}

impl Chief {
    /// Where its dashboard is, if this process can reach it.
    pub(super) fn dashboard(&self) -> Option<String> {
        let rest = self.child.said_behind("admin API at ")?;
        let (url, _) = rest.split_once(';')?;
        url.starts_with("http://").then(|| url.to_owned())
    }

    /// Starts a manager at this address; one that comes back has the address that it had.
    pub(super) async fn start(
        options: &Options,
        site: &Site,
        name: String,
        address: Option<String>,
    ) -> anyhow::Result<Self> {
        let place = site.place(Role::Manager, &name).await?;
        let address = match address {
            Some(address) => address,
            None => place.free_address()?,
        };
        let file = format!("file:{}", site.folder().log().display());
        let storage = options.storage.as_ref().unwrap_or(&file);
        let arguments = [
            "manager",
            "--name",
            &name,
            "--listen",
            &address,
            "--admin-listen",
            "127.0.0.1:0",
            "--storage",
            storage,
            "--cluster",
            site.folder().name(),
            "--failover",
            options.failover.as_str(),
            "--log",
            "error",
            "--until-input-ends",
        ];
        let mut arguments = arguments.map(str::to_owned).to_vec();
        if options.failover == Failover::Lease {
            arguments.extend(["--lease-profile".to_owned(), "fast".to_owned()]);
        }
        arguments.extend(place.tls_arguments());
        let child = Child::start(&place, &arguments, site.token())?;
        let started = child.said("manager", BEGINNING).await;
        started.with_context(|| format!("{name} did not start"))?;
        Ok(Self {
            name,
            address,
            child,
        })
    }
}
