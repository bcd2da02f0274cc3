//! `cargo xtask fuzz`: the campaigns of `cargo test`, for as long as one likes and from a fresh seed.
//!
//! A campaign is an ordinary test that looks for three variables; this only sets them, builds with optimization and all
//! checks, and counts. It needs no other tool and no other toolchain, and writes nothing to the source tree: an input that
//! fails is printed, to be tried alone with `--input` and to be kept as a test.

use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use crate::child::{self, cargo};

/// Look for inputs from the network that do harm
///
/// Runs one campaign after the other and shows how far each has come. The exit code is 1 if one has found an input that fails.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask fuzz                                  all campaigns, a minute each
  cargo xtask fuzz --for 8h --only frames           one campaign over night
  cargo xtask fuzz --only frames --input 02000141   one input that has failed, alone")]
pub(crate) struct Fuzz {
    /// How long each campaign runs: seconds, or with `s`, `m` or `h`
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = time)]
    time: Duration,
    /// The number that the inputs follow from; a fresh one if there is none
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run only these campaigns, separated by commas
    #[arg(long, value_name = "CAMPAIGNS", value_delimiter = ',')]
    only: Vec<Campaign>,
    /// Try this input alone, in hexadecimal digits
    #[arg(long, value_name = "HEX", requires = "only")]
    input: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Campaign {
    /// One frame
    Frames,
    /// A stream of frames, cut anywhere
    Inbox,
    /// What a stranger says first
    Handshake,
    /// What is pushed, written, lost and taken back, in any order
    Outbox,
}

impl Fuzz {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let seed = self.seed.unwrap_or_else(fresh_seed);
        let mut failed = 0;
        for campaign in self.chosen() {
            let mut command = campaign.command();
            match &self.input {
                Some(input) => command.env("OSTRAKON_FUZZ_INPUT", input),
                None => command
                    .env("OSTRAKON_FUZZ_SECONDS", self.time.as_secs().to_string())
                    .env("OSTRAKON_FUZZ_SEED", seed.to_string()),
            };
            let ended = child::run(command, None)?;
            let ran = ended.tally.passed + ended.tally.failed;
            // It may also have ended without a summary, if the process was aborted.
            ensure!(
                ran == 1 || !ended.status.success(),
                "no campaign is called {campaign:?}"
            );
            failed += usize::from(!ended.status.success());
        }
        println!("\n{failed} campaigns have found an input that fails");
        Ok(match failed {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        })
    }

    fn chosen(&self) -> impl Iterator<Item = Campaign> {
        let all = Campaign::value_variants().iter().copied();
        all.filter(|campaign| self.only.is_empty() || self.only.contains(campaign))
    }
}

impl Campaign {
    fn test(self) -> &'static str {
        match self {
            Self::Frames => "link::frame::tests::campaign_of_frames",
            Self::Inbox => "link::inbox::tests::campaign_of_the_inbox",
            Self::Handshake => "link::handshake::tests::campaign_of_the_handshake",
            Self::Outbox => "link::outbox::tests::campaign_of_the_outbox",
        }
    }

    /// Fast, and with every check that a debug build has.
    fn command(self) -> Command {
        let mut command = cargo(["test", "--profile", "fuzz"]);
        for setting in [
            "inherits='release'",
            "lto=false",
            "debug-assertions=true",
            "overflow-checks=true",
        ] {
            command
                .arg("--config")
                .arg(format!("profile.fuzz.{setting}"));
        }
        command.args(["-p", "ostrakon", "--lib", "--", "--nocapture", "--exact"]);
        command.arg(self.test());
        command
    }
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |since| since.as_millis() as u64)
}

fn time(text: &str) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(['s', 'm', 'h']);
    let unit = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    let seconds = number
        .zip(unit)
        .and_then(|(number, unit)| number.checked_mul(unit));
    let seconds = seconds.filter(|seconds| *seconds > 0);
    let seconds = seconds.context("a time is a number with `s`, `m` or `h`, such as 90s or 8h")?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        for (text, seconds) in [("7", 7), ("90s", 90), ("2m", 120), ("8h", 28_800)] {
            assert_eq!(time(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        for text in [
            "",
            "s",
            "0s",
            "-1s",
            "1.5h",
            "1d",
            "1ms",
            "99999999999999999999h",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn campaigns_are_all_unless_some_are_named() {
        let fuzz = |only| Fuzz {
            time: Duration::from_secs(1),
            seed: None,
            only,
            input: None,
        };
        let all = fuzz(Vec::new());
        assert!(all.chosen().eq(Campaign::value_variants().iter().copied()));
        let one = fuzz(vec![Campaign::Inbox]);
        assert!(one.chosen().eq([Campaign::Inbox]));
    }
}
