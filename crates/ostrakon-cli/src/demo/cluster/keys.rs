//! `Keys`: what somebody presses while the demo runs, or what is pressed in their place.
//!
//! While there are keys of a terminal, it does not echo and does not wait for a line to end; it is as before when they are dropped. Ctrl-C
//! remains what it is.

use std::{
    io::{self, Read},
    thread,
    time::Duration,
};

use anyhow::Context;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::{sync::mpsc, time::Instant};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Kill,
    Add,
    /// Stop a node, or let the one go on that was stopped.
    Pause,
    Drain,
    Quit,
}

impl Key {
    fn of(byte: u8) -> Option<Self> {
        match byte.to_ascii_lowercase() {
            b'k' => Some(Self::Kill),
            b'a' => Some(Self::Add),
            b'p' => Some(Self::Pause),
            b'd' => Some(Self::Drain),
            b'q' => Some(Self::Quit),
            _ => None,
        }
    }
}

/// The next keys.
pub(super) enum Keys {
    Terminal {
        pressed: mpsc::Receiver<Key>,
        /// Gives the terminal back.
        _before: Terminal,
    },
    Script(Vec<(Instant, Key)>),
}

/// A terminal as it was.
pub(super) struct Terminal(Termios);

impl Keys {
    pub(super) fn of_terminal() -> anyhow::Result<Self> {
        let before = tcgetattr(io::stdin()).context("this terminal says nothing about itself")?;
        let mut silent = before.clone();
        silent
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &silent)
            .context("this terminal does not give single keys")?;
        let (press, pressed) = mpsc::channel(16);
        // Nothing ends it but the end of the process: whoever reads a terminal cannot be interrupted.
        thread::spawn(move || {
            let bytes = io::stdin().lock().bytes().map_while(Result::ok);
            for key in bytes.filter_map(Key::of) {
                if press.blocking_send(key).is_err() {
                    return;
                }
            }
        });
        Ok(Self::Terminal {
            pressed,
            _before: Terminal(before),
        })
    }

    /// One of each, with time between them to see what comes of it.
    pub(super) fn of_script(run_for: Duration) -> Self {
        let now = Instant::now();
        let script = [Key::Add, Key::Kill, Key::Pause, Key::Pause, Key::Drain];
        let parts = script.len() as u32 + 1;
        let mut script: Vec<_> = (1..)
            .zip(script)
            .map(|(number, key)| (now + run_for * number / parts, key))
            .collect();
        script.reverse();
        Self::Script(script)
    }

    /// The next one; there may never be any.
    pub(super) async fn next(&mut self) -> Key {
        let next = match self {
            Self::Terminal { pressed, .. } => pressed.recv().await,
            Self::Script(script) => match script.last().copied() {
                Some((at, key)) => {
                    tokio::time::sleep_until(at).await;
                    script.pop();
                    Some(key)
                }
                None => None,
            },
        };
        match next {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If it is gone, nobody misses it.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_same_with_shift_and_others_mean_nothing() {
        assert_eq!(Key::of(b'k'), Some(Key::Kill));
        assert_eq!(Key::of(b'K'), Some(Key::Kill));
        assert_eq!(Key::of(b'x'), None);
        assert_eq!(Key::of(0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_script_presses_each_key_in_time() {
        let began = Instant::now();
        let mut keys = Keys::of_script(Duration::from_secs(6));
        for (second, key) in (1..).zip([Key::Add, Key::Kill, Key::Pause, Key::Pause, Key::Drain]) {
            assert_eq!(keys.next().await, key);
            assert_eq!(began.elapsed(), Duration::from_secs(second));
        }
        let more = tokio::time::timeout(Duration::from_secs(60), keys.next()).await;
        assert!(more.is_err(), "{more:?}");
    }
}
