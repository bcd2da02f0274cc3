//! `PhiAccrual`: how surprising the silence of one peer is, after Hayashibara et al., "The φ accrual failure detector" (2004).
//!
//! It keeps the last intervals between heartbeats and answers with φ: at φ = 3 one silence in a thousand as long as this
//! one would be mere jitter. It is a suspicion and never a proof, and it does not count observers: the `Topology` does.
//!
//! Invariants: memory is fixed at construction; φ never shrinks while the peer stays silent; and only `+ - * /` and `sqrt`
//! are used, which every machine rounds alike, so that a decision replays everywhere.

use std::time::Duration;

use crate::Time;

/// When the silence of a peer counts as suspicious. Checked by [`PhiAccrual::new`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhiConfig {
    /// From which φ on the peer is no longer available.
    pub threshold: f64,
    /// How many of the last intervals are remembered.
    pub window: usize,
    /// The least jitter assumed, however regular the peer has been so far.
    pub min_std: Duration,
    /// The interval expected of a peer that has not been heard often enough.
    pub first_estimate: Duration,
    /// How much longer than its usual interval a healthy peer may be silent: a few lost heartbeats, a pause of its process.
    pub acceptable_pause: Duration,
}

impl Default for PhiConfig {
    fn default() -> Self {
        Self {
            threshold: 8.0,
            window: 200,
            min_std: Duration::from_millis(100),
            first_estimate: Duration::from_secs(1),
            acceptable_pause: Duration::from_secs(1),
        }
    }
}

impl PhiConfig {
    /// The most intervals that may be remembered.
    pub const MAX_WINDOW: usize = 10_000;

    fn check(&self) -> Result<(), InvalidPhiConfig> {
        if !(self.threshold > 0.0 && self.threshold <= 100.0) {
            return Err(InvalidPhiConfig::Threshold(self.threshold));
        }
        if !(2..=Self::MAX_WINDOW).contains(&self.window) {
            return Err(InvalidPhiConfig::Window(self.window));
        }
        for (what, duration) in [
            ("min_std", self.min_std),
            ("first_estimate", self.first_estimate),
        ] {
            if !(Duration::from_millis(1)..=LONGEST).contains(&duration) {
                return Err(InvalidPhiConfig::Duration { what, duration });
            }
        }
        match self.acceptable_pause {
            pause if pause > LONGEST => Err(InvalidPhiConfig::Duration {
                what: "acceptable_pause",
                duration: pause,
            }),
            _ => Ok(()),
        }
    }
}

/// A [`PhiConfig`] that makes no sense. Nothing was built: correct the number and try again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPhiConfig {
    /// The threshold can never be passed, or always is.
    #[error("phi threshold is {0}: it must be above 0 and at most 100")]
    Threshold(f64),
    /// Too few intervals for a mean and a deviation, or more than is worth remembering.
    #[error("phi window is {0} intervals: allowed are 2 to {max}", max = PhiConfig::MAX_WINDOW)]
    Window(usize),
    /// A duration outside of what heartbeats can be measured with.
    #[error("phi {what} is {duration:?}: it must lie between 1 ms and 1 h (a pause may be 0)")]
    Duration {
        /// Which one.
        what: &'static str,
        /// What it was.
        duration: Duration,
    },
}

/// The silence of one peer, judged by its own habits.
///
/// ```
/// use std::time::Duration;
/// use ostrakon_core::{PhiAccrual, PhiConfig, Time};
///
/// let mut now = Time::ZERO;
/// let mut peer = PhiAccrual::new(PhiConfig::default(), now)?;
/// for _ in 0..20 {
///     now = now + Duration::from_millis(500);
///     peer.heartbeat(now);
/// }
/// assert!(peer.is_available(now + Duration::from_millis(1500)));
/// assert!(!peer.is_available(now + Duration::from_secs(5)));
/// # Ok::<(), ostrakon_core::InvalidPhiConfig>(())
/// ```
#[derive(Clone, Debug)]
pub struct PhiAccrual {
    config: PhiConfig,
    /// Microseconds; once it has grown to the window, `oldest` is overwritten next.
    intervals: Vec<u32>,
    oldest: usize,
    /// Of the intervals and of their squares: whole numbers, so that a long life adds no rounding error.
    sum: u64,
    squares: u128,
    last: Time,
}

impl PhiAccrual {
    /// Starts to listen at `now`. Silence counts from here on, so a peer that is never heard at all becomes suspicious too.
    pub fn new(config: PhiConfig, now: Time) -> Result<Self, InvalidPhiConfig> {
        config.check()?;
        let mut phi = Self {
            config,
            intervals: Vec::new(),
            oldest: 0,
            sum: 0,
            squares: 0,
            last: now,
        };
        let (estimate, spread) = (config.first_estimate, config.first_estimate / 4);
        phi.remember(estimate - spread);
        phi.remember(estimate + spread);
        Ok(phi)
    }

    /// The peer was heard at `now`.
    ///
    /// A heartbeat at the same moment as the last, or before it, tells nothing new. A silence that had become suspicious was
    /// an outage and not the peer's habit: it ends, and is not remembered, or the next outage would be found later.
    pub fn heartbeat(&mut self, now: Time) {
        if now <= self.last {
            return;
        }
        if self.is_available(now) {
            self.remember(self.silence(now));
        }
        self.last = now;
    }

    /// Counts silence from `now` on, as if the peer had just been heard, without learning from it: for an observer that was
    /// itself not running, and so cannot know.
    pub fn forgive(&mut self, now: Time) {
        self.last = self.last.max(now);
    }

    /// How long the peer has not been heard.
    pub fn silence(&self, now: Time) -> Duration {
        now.saturating_since(self.last)
    }

    /// How surprising the silence is: minus the decimal logarithm of the chance that a heartbeat is still to come.
    pub fn phi(&self, now: Time) -> f64 {
        self.phi_with_grace(now, Duration::ZERO)
    }

    /// Whether the silence is still within the peer's habits.
    pub fn is_available(&self, now: Time) -> bool {
        self.phi(now) < self.config.threshold
    }

    /// The same, by an observer that grants `grace` more, because it does not trust itself at the moment.
    pub fn is_available_with_grace(&self, now: Time, grace: Duration) -> bool {
        self.phi_with_grace(now, grace) < self.config.threshold
    }

    fn phi_with_grace(&self, now: Time, grace: Duration) -> f64 {
        let expected = self.mean() + micros(self.config.acceptable_pause) + micros(grace);
        let std = self.std().max(micros(self.config.min_std));
        minus_log10_of_tail((micros(self.silence(now)) - expected) / std)
    }

    fn mean(&self) -> f64 {
        self.sum as f64 / self.intervals.len() as f64
    }

    fn std(&self) -> f64 {
        let n = self.intervals.len() as u128;
        let sum = u128::from(self.sum);
        ((n * self.squares - sum * sum) as f64).sqrt() / n as f64
    }

    fn remember(&mut self, interval: Duration) {
        let interval = u32::try_from(interval.as_micros()).unwrap_or(u32::MAX);
        if self.intervals.len() < self.config.window {
            self.intervals.push(interval);
        } else {
            let forgotten = std::mem::replace(&mut self.intervals[self.oldest], interval);
            self.oldest = (self.oldest + 1) % self.config.window;
            self.sum -= u64::from(forgotten);
            self.squares -= u128::from(forgotten).pow(2);
        }
        self.sum += u64::from(interval);
        self.squares += u128::from(interval).pow(2);
    }
}

/// Minus the decimal logarithm of the chance that a standard normal variable exceeds `y`.
///
/// By the logistic approximation `1 / (1 + e^g)` of the tail, with `g = 1.5976 y + 0.070566 y³`. Its result is never too
/// small by more than 0.0002, and too great by 0.04 at 3 σ, 0.24 at 4 σ, 0.76 at 5 σ and 1.8 at 6 σ: a threshold of 8 is
/// passed at 5.22 σ instead of 5.61 σ, that is a little early.
fn minus_log10_of_tail(y: f64) -> f64 {
    let g = y * (1.5976 + 0.070_566 * y * y);
    (g.max(0.0) + ln_1p(exp_of_minus(g.abs()))) / std::f64::consts::LN_10
}

/// `e^-a` for `a >= 0`, by the series at `a / 1024`, squared ten times. Below e⁻⁴⁰ it is lost in any sum with 1.
fn exp_of_minus(a: f64) -> f64 {
    if a > 40.0 {
        return 0.0;
    }
    let x = -a / 1024.0;
    let mut power = (1..=8)
        .rev()
        .fold(1.0, |sum, n| 1.0 + x * sum / f64::from(n));
    for _ in 0..10 {
        power *= power;
    }
    power
}

/// `ln(1 + u)` for `0 <= u <= 1`, as twice the area tangent of `u / (2 + u)`, whose series converges ninefold a term.
fn ln_1p(u: f64) -> f64 {
    let z = u / (2.0 + u);
    let sum = (0..=16)
        .rev()
        .fold(0.0, |sum, n| sum * z * z + 1.0 / f64::from(2 * n + 1));
    2.0 * z * sum
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1000.0
}

/// Fits the 32 bits of an interval in microseconds.
const LONGEST: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests;
