//! `Member`: a node's process, as whoever started it sees it.

use anyhow::Context;
use ostrakon_tls::Role;

use super::{
    BEGINNING, Chief, Child, Line, Site,
    serve::{DASHBOARD, FOLLOWS, LEADS, LEARNS, VOTES},
};

/// A node's process, and its lines to the managers.
pub(crate) struct Member {
    pub(super) name: String,
    pub(super) child: Child,
    /// None where the site has a network: what is between two processes is cut there.
    pub(super) lines: Vec<Line>,
}

/// Who decides for a node.
#[derive(Clone, Copy)]
pub(super) enum Deciders<'a> {
    Managers(&'a [Chief]),
    /// The nodes themselves, of which some are found here; this one at its own address.
    Peers {
        at: &'a str,
        seeds: &'a [String],
    },
}

impl Member {
    pub(super) async fn start(
        name: String,
        deciders: Deciders<'_>,
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
        match deciders {
            Deciders::Peers { at, seeds } => {
                argue("--peers-at", at);
                seeds.iter().for_each(|seed| argue("--seed", seed));
            }
            Deciders::Managers(managers) if site.network().is_some() => {
                for manager in managers {
                    argue("--manager", &manager.address);
                }
            }
            Deciders::Managers(managers) => {
                for manager in managers {
                    let line = Line::to(&manager.address).await?;
                    argue("--manager", &line.address().to_string());
                    lines.push(line);
                }
            }
        }
        if site.has_sensors() {
            arguments.push("--sensors".to_owned());
        }
        arguments.extend(place.tls_arguments());
        let child = Child::start(&place, &arguments, site.token())?;
        let joined = child.said("ready", BEGINNING).await;
        joined.with_context(|| format!("{name} did not join"))?;
        Ok(Self { name, child, lines })
    }

    /// Where its dashboard is, if it has one.
    pub(super) fn dashboard(&self) -> Option<String> {
        self.child.said_behind(DASHBOARD)
    }

    /// Whether it decides for all.
    pub(super) fn leads(&self) -> bool {
        self.child.last_said(&[LEADS, FOLLOWS]) == Some(LEADS)
    }

    /// Whether it has a say in who decides.
    pub(super) fn votes(&self) -> bool {
        self.child.last_said(&[VOTES, LEARNS]) == Some(VOTES)
    }
}
