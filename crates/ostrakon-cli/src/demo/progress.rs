//! `Progress`: shows that the demo is alive while it runs.
//!
//! On a terminal it is one line that changes; elsewhere it is a plain line now and then on standard error, so that
//! standard output holds the result and nothing else.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use super::{Options, summary::grouped};

pub(crate) struct Progress {
    way: Way,
    began: Instant,
    shown: Instant,
    messages: u64,
}

#[derive(Clone, Copy)]
enum Way {
    OneLine,
    ManyLines,
}

/// The state of affairs at one moment.
pub(crate) struct Sample {
    pub(crate) messages: u64,
    /// What is known of entities in this process.
    pub(crate) entities: Option<Entities>,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

pub(crate) struct Entities {
    pub(crate) active: usize,
    pub(crate) started: u64,
    pub(crate) stopped: u64,
    pub(crate) restarts: u64,
}

impl Progress {
    pub(crate) fn new(options: &Options) -> Self {
        let one_line = std::io::stdout().is_terminal() && !options.json;
        let now = Instant::now();
        Self {
            way: if one_line {
                Way::OneLine
            } else {
                Way::ManyLines
            },
            began: now,
            shown: now,
            messages: 0,
        }
    }

    /// How often to show something.
    pub(crate) fn period(&self) -> Duration {
        match self.way {
            Way::OneLine => Duration::from_millis(500),
            Way::ManyLines => Duration::from_secs(2),
        }
    }

    pub(crate) fn show(&mut self, sample: &Sample) {
        let now = Instant::now();
        let line = self.line(now, sample);
        self.shown = now;
        self.messages = sample.messages;
        match self.way {
            Way::OneLine => {
                print!("\r{line}{ERASE_THE_REST}");
                // A line that cannot be shown is no reason to stop.
                let _ = std::io::stdout().flush();
            }
            Way::ManyLines => eprintln!("{line}"),
        }
    }

    fn line(&self, now: Instant, sample: &Sample) -> String {
        let since = now.duration_since(self.shown).as_secs_f64();
        let rate = sample.messages.saturating_sub(self.messages) as f64 / since;
        let entities = sample.entities.as_ref().map(|entities| {
            format!(
                "  active {}  started {}  stopped {}  restarts {}",
                grouped(entities.active as u64),
                grouped(entities.started),
                grouped(entities.stopped),
                entities.restarts,
            )
        });
        format!(
            "{:.1} s  {} msg/s{}  p50 {:.1} µs  p99 {:.1} µs",
            now.duration_since(self.began).as_secs_f64(),
            grouped(rate as u64),
            entities.unwrap_or_default(),
            sample.p50_us,
            sample.p99_us,
        )
    }
}

impl Drop for Progress {
    /// What follows begins on a line of its own.
    fn drop(&mut self) {
        if matches!(self.way, Way::OneLine) {
            print!("\r{ERASE_THE_REST}");
        }
    }
}

const ERASE_THE_REST: &str = "\x1b[K";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_since_the_last_line() {
        let began = Instant::now();
        let progress = Progress {
            way: Way::ManyLines,
            began,
            shown: began + Duration::from_secs(2),
            messages: 4_000,
        };
        let sample = Sample {
            messages: 10_000,
            entities: Some(Entities {
                active: 2_500,
                started: 3_000,
                stopped: 500,
                restarts: 7,
            }),
            p50_us: 0.64,
            p99_us: 12.0,
        };
        assert_eq!(
            progress.line(began + Duration::from_secs(4), &sample),
            "4.0 s  3,000 msg/s  active 2,500  started 3,000  stopped 500  restarts 7  p50 0.6 µs  p99 12.0 µs"
        );
    }
}
