//! Playing with the cluster: whoever watches presses keys, and sees what comes of it.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context;
use ostrakon::Security;
use rustix::process::Signal;
use tokio::time::{Instant, interval};

use super::{
    Cluster,
    keys::{Key, Keys},
    screen::{NodeSight, Screen, Sight},
};
use crate::verbs::Client;

/// How long to wait for what a dashboard has to say.
const LOOK: Duration = Duration::from_millis(300);
/// As many as a demo may have from the start.
const MOST_NODES: usize = 64;

impl Cluster<'_> {
    /// Does what is asked for by keys, until the time is over or the user has seen enough.
    pub(super) async fn play(
        &mut self,
        mut keys: Keys,
        run_for: Option<Duration>,
    ) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut screen = Screen::new(
            self.dashboards().first().map(|url| &**url),
            self.site.token(),
        );
        let mut ticks = interval(screen.period());
        loop {
            let over = async {
                match run_for {
                    Some(run_for) => tokio::time::sleep_until(began + run_for).await,
                    None => std::future::pending().await,
                }
            };
            let key = tokio::select! {
                () = over => return Ok(()),
                interrupted = tokio::signal::ctrl_c() => {
                    interrupted.context("cannot listen for Ctrl-C")?;
                    tokio::spawn(crate::demo::exit_at_the_next_interrupt());
                    return Ok(());
                }
                key = keys.next() => key,
                _ = ticks.tick() => {
                    screen.show(&self.sight(began.elapsed()).await);
                    continue;
                }
            };
            if key == Key::Quit {
                return Ok(());
            }
            self.shift.disturbed(true);
            screen.tell(self.press(key).await?);
            self.shift.disturbed(false);
        }
    }

    /// Returns what was done, or why not.
    async fn press(&mut self, key: Key) -> anyhow::Result<String> {
        match key {
            Key::Kill | Key::Drain if self.nodes.len() == 1 => {
                Ok("the last node stays: add another one first".to_owned())
            }
            Key::Kill => {
                let name = self.kill(0).await?;
                self.forget_pause(&name);
                Ok(format!("{name} was killed"))
            }
            Key::Drain => {
                let mut node = self.nodes.remove(0);
                if self.paused.as_ref() == Some(&node.name) {
                    self.paused = None;
                    node.child.signal(Signal::CONT)?;
                }
                let name = node.name.clone();
                self.parting.spawn(async move { node.child.end().await });
                Ok(format!("{name} hands its shards over and leaves"))
            }
            Key::Add if self.nodes.len() >= MOST_NODES => {
                Ok(format!("{MOST_NODES} nodes are enough"))
            }
            Key::Add => {
                self.add_one().await?;
                let name = self.nodes.last().map_or("", |node| &node.name);
                Ok(format!("{name} has joined"))
            }
            Key::Pause => match self.resume()? {
                Some(name) => Ok(format!("{name} goes on")),
                None => self.pause(),
            },
            Key::Quit => Ok(String::new()),
        }
    }

    fn pause(&mut self) -> anyhow::Result<String> {
        let node = self.nodes.first().context("there is no node left")?;
        self.shift.blame.other_fault(Instant::now().into_std());
        node.child.signal(Signal::STOP)?;
        self.paused = Some(node.name.clone());
        Ok(format!("{} stands still, and does not know it", node.name))
    }

    /// Lets a node go on that stands still; returns which.
    pub(super) fn resume(&mut self) -> anyhow::Result<Option<String>> {
        let Some(name) = self.paused.take() else {
            return Ok(None);
        };
        if let Some(node) = self.nodes.iter().find(|node| node.name == name) {
            node.child.signal(Signal::CONT)?;
        }
        Ok(Some(name))
    }

    fn forget_pause(&mut self, name: &str) {
        self.paused.take_if(|paused| paused == name);
    }

    /// Where dashboards are that this process can reach.
    fn dashboards(&self) -> Vec<String> {
        let managers = self.managers.iter().filter_map(|one| one.dashboard());
        let nodes = self
            .nodes
            .iter()
            .filter(|node| self.paused.as_ref() != Some(&node.name));
        managers
            .chain(nodes.filter_map(|node| node.dashboard()))
            .collect()
    }

    async fn sight(&self, since: Duration) -> Sight {
        let known = self.look().await;
        let nodes = self.nodes.iter().map(|node| {
            let known = known.get(&node.name);
            let state = match known {
                _ if self.paused.as_ref() == Some(&node.name) => "paused",
                Some((state, _)) => state,
                None => "joining",
            };
            NodeSight {
                name: node.name.clone(),
                state: state.to_owned(),
                shards: known.map(|(_, shards)| *shards),
            }
        });
        let tally = self.shift.tally();
        Sight {
            nodes: nodes.collect(),
            since,
            messages: tally.messages(),
            p50_us: tally.latency_us(0.50),
            p99_us: tally.latency_us(0.99),
            failed: tally.failed.not_executed
                + tally.failed.failed_in_handler
                + tally.failed.executed_without_answer,
            unknown: tally.unknown,
        }
    }

    /// State and number of shards of each node, as the first of those says that answers soon.
    async fn look(&self) -> BTreeMap<String, (String, u64)> {
        for dashboard in self.dashboards() {
            let client = Client {
                address: dashboard.trim_start_matches("http://").to_owned(),
                security: Security::plaintext(),
                token: None,
            };
            let looked = tokio::time::timeout(LOOK, client.get("/v1/nodes")).await;
            let Ok(Ok(answer)) = looked else {
                continue;
            };
            let nodes = answer["nodes"].as_array().into_iter().flatten();
            let known = nodes.filter_map(|node| {
                let name = node["name"].as_str()?.to_owned();
                let state = match node["state"].as_str()? {
                    "active" => "up",
                    other => other,
                };
                Some((name, (state.to_owned(), node["shards"].as_u64()?)))
            });
            return known.collect();
        }
        BTreeMap::new()
    }
}
