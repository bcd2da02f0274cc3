//! `Screen`: the nodes and what they do, on a terminal or as lines.
//!
//! A terminal shows the present; elsewhere what happens is told line by line on standard error.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
    time::Duration,
};

use crate::demo::summary::grouped;

/// What there is to see.
pub(super) struct Sight {
    pub(super) nodes: Vec<NodeSight>,
    pub(super) since: Duration,
    pub(super) messages: u64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) failed: u64,
    pub(super) unknown: u64,
}

pub(super) struct NodeSight {
    pub(super) name: String,
    pub(super) state: String,
    /// As far as somebody says it.
    pub(super) shards: Option<u64>,
}

pub(super) struct Screen {
    is_terminal: bool,
    /// How many lines are to be drawn anew.
    drawn: usize,
    before: Option<(Duration, u64)>,
    happened: String,
}

impl Screen {
    /// Says first where else to look.
    pub(super) fn new(dashboard: Option<&str>, token: &str) -> Self {
        let is_terminal = io::stdout().is_terminal();
        if let Some(dashboard) = dashboard {
            let text = format!("dashboard {dashboard}/  token {token}");
            match is_terminal {
                true => println!("{text}"),
                false => eprintln!("{text}"),
            }
        }
        Self {
            is_terminal,
            drawn: 0,
            before: None,
            happened: String::new(),
        }
    }

    /// How often to show something.
    pub(super) fn period(&self) -> Duration {
        match self.is_terminal {
            true => Duration::from_millis(500),
            false => Duration::from_secs(2),
        }
    }

    /// Something was done.
    pub(super) fn tell(&mut self, happened: String) {
        if !self.is_terminal {
            eprintln!("{happened}");
        }
        self.happened = happened;
    }

    pub(super) fn show(&mut self, sight: &Sight) {
        let text = match self.is_terminal {
            true => self.picture(sight),
            false => self.line(sight),
        };
        self.before = Some((sight.since, sight.messages));
        if !self.is_terminal {
            eprintln!("{text}");
            return;
        }
        let up = self.drawn;
        self.drawn = text.lines().count();
        let back = if up > 0 {
            format!("\x1b[{up}A")
        } else {
            String::new()
        };
        print!("{back}\r{ERASE_BELOW}{text}");
        // What cannot be shown is no reason to stop.
        let _ = io::stdout().flush();
    }

    fn picture(&self, sight: &Sight) -> String {
        let most = sight.nodes.iter().filter_map(|node| node.shards).max();
        let mut text = String::new();
        for NodeSight {
            name,
            state,
            shards,
        } in &sight.nodes
        {
            let bar = shards.zip(most).map_or(0, |(shards, most)| {
                usize::try_from(shards * BAR / most.max(1)).unwrap_or_default()
            });
            let shards = shards.map_or_else(String::new, |shards| format!("{shards} shards"));
            let _ = writeln!(
                text,
                "  {name:<10} {state:<8} {shards:>10}  {}",
                "█".repeat(bar)
            );
        }
        let _ = writeln!(text, "  {}", self.line(sight));
        let _ = writeln!(text, "  {}", self.happened);
        text + "  k kill a node   a add one   p pause one, or let it go on   d drain one   q quit\n"
    }

    fn line(&self, sight: &Sight) -> String {
        let (then, messages) = self.before.unwrap_or_default();
        let seconds = sight.since.saturating_sub(then).as_secs_f64().max(0.001);
        let rate = sight.messages.saturating_sub(messages) as f64 / seconds;
        let mut text = format!(
            "{:.1} s  {} nodes  {} msg/s  p50 {:.1} µs  p99 {:.1} µs",
            sight.since.as_secs_f64(),
            sight.nodes.len(),
            grouped(rate as u64),
            sight.p50_us,
            sight.p99_us,
        );
        for (number, what) in [(sight.failed, "not done"), (sight.unknown, "unknown")] {
            if number > 0 {
                let _ = write!(text, "  {} {what}", grouped(number));
            }
        }
        text
    }
}

const ERASE_BELOW: &str = "\x1b[J";
/// How wide the bar of the fullest node is.
const BAR: u64 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn sight() -> Sight {
        let node = |name: &str, state: &str, shards| NodeSight {
            name: name.to_owned(),
            state: state.to_owned(),
            shards,
        };
        Sight {
            nodes: vec![
                node("node-1", "up", Some(200)),
                node("node-2", "paused", Some(100)),
                node("node-3", "leaving", None),
            ],
            since: Duration::from_secs(4),
            messages: 10_000,
            p50_us: 0.64,
            p99_us: 12.0,
            failed: 0,
            unknown: 3,
        }
    }

    fn screen() -> Screen {
        Screen {
            is_terminal: false,
            drawn: 0,
            before: Some((Duration::from_secs(2), 4_000)),
            happened: "node-1 was killed".to_owned(),
        }
    }

    #[test]
    fn the_rate_is_that_since_the_last_time() {
        assert_eq!(
            screen().line(&sight()),
            "4.0 s  3 nodes  3,000 msg/s  p50 0.6 µs  p99 12.0 µs  3 unknown"
        );
    }

    #[test]
    fn every_node_has_a_line_whose_bar_is_its_part_of_the_fullest() {
        let picture = screen().picture(&sight());
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), 6, "{picture}");
        let bar = |line: &str| line.matches('█').count();
        assert_eq!((bar(lines[0]), bar(lines[1]), bar(lines[2])), (30, 15, 0));
        assert!(lines[1].contains("paused"), "{picture}");
        assert!(lines[4].contains("node-1 was killed"), "{picture}");
    }
}
