//! `Member`: a node's process, as whoever started it sees it.

use anyhow::Context;
use ostrakon_tls::Role;

use super::{BEGINNING, Chief, Child, Line, Site};

/// A node's process, and its lines to the managers.
pub(crate) struct Member {
    pub(super) name: String,
    pub(super) child: Child,
    /// None where the site has a network: what is between two processes is cut there.
    pub(super) lines: Vec<Line>,
}

impl Member {
    pub(super) async fn start(
        name: String,
        managers: &[Chief],
        site: &Site,
        version: &str,
    ) -> anyhow::Result<Self> {
        let place = site.place(Role::Node, &name).await?;
        let mut arguments = vec!["demo-node".to_owned()];
        let mut argue = |name: &str, value: &str| {
            arguments.extend([name.to_owned(), value.to_owned()]);
        };
        argue("--name", &name);
        argue("--node-version", version);
        argue("--cluster", site.folder().name());
        argue("--listen", &format!("{}:0", place.host));
        let journal = site.folder().journal();
        argue(
            "--journal",
            journal.to_str().context("the folder has a strange name")?,
        );
        let mut lines = Vec::new();
        for manager in managers {
            if site.network().is_some() {
                argue("--manager", &manager.address);
                continue;
            }
            let line = Line::to(&manager.address).await?;
            argue("--manager", &line.address().to_string());
            lines.push(line);
        }
        arguments.extend(place.tls_arguments());
        let child = Child::start(&place, &arguments)?;
        let joined = child.said("ready", BEGINNING).await;
        joined.with_context(|| format!("{name} did not join"))?;
        Ok(Self { name, child, lines })
    }
}
