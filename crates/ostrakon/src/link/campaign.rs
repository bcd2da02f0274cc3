//! `Campaign`: one property, held against very many inputs.
//!
//! It begins with examples, mutates them, and keeps every input that reached something no other had reached: so it works its way
//! into a format without knowing it. `cargo test` runs a short campaign that is the same every time; `cargo xtask fuzz` sets the
//! variables below for a long one from a fresh seed. Invariant: the seed and the number of a case determine its input.

use std::{
    collections::BTreeSet,
    env,
    fmt::Write,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    time::{Duration, Instant},
};

/// For how many seconds to run, instead of a fixed number of cases.
const SECONDS: &str = "OSTRAKON_FUZZ_SECONDS";
const SEED: &str = "OSTRAKON_FUZZ_SEED";
/// One input in hexadecimal digits, to be tried alone.
const INPUT: &str = "OSTRAKON_FUZZ_INPUT";
/// The longest input: more only makes each case slower.
const LONGEST: usize = 4096;
const PROGRESS: Duration = Duration::from_secs(5);

pub(super) struct Campaign<R> {
    name: &'static str,
    corpus: Vec<Vec<u8>>,
    reached: BTreeSet<R>,
    random: fastrand::Rng,
}

/// How far a campaign goes.
enum Extent {
    Cases(u64),
    Time(Duration),
}

impl<R: Ord> Campaign<R> {
    /// Holds `check` against `examples` and what comes of them. It panics if the property does not hold, and says what it reached.
    pub(super) fn run(
        name: &'static str,
        cases: u64,
        examples: Vec<Vec<u8>>,
        check: impl Fn(&[u8]) -> R,
    ) {
        if let Ok(digits) = env::var(INPUT) {
            check(&from_hex(&digits));
            return;
        }
        let seed = number(SEED).unwrap_or(1);
        let extent = match number(SECONDS) {
            Some(seconds) => Extent::Time(Duration::from_secs(seconds)),
            None => Extent::Cases(cases),
        };
        let mut campaign = Self {
            name,
            corpus: vec![Vec::new()],
            reached: BTreeSet::new(),
            random: fastrand::Rng::with_seed(seed),
        };
        for example in examples {
            campaign.attempt(seed, example, &check);
        }
        campaign.go_on(seed, extent, &check);
    }

    fn go_on(&mut self, seed: u64, extent: Extent, check: &impl Fn(&[u8]) -> R) {
        let started = Instant::now();
        let mut reported = started;
        let mut cases = 0_u64;
        loop {
            let is_over = match extent {
                Extent::Cases(most) => cases >= most,
                Extent::Time(most) => started.elapsed() >= most,
            };
            if is_over || reported.elapsed() >= PROGRESS {
                self.report(seed, cases, started.elapsed());
                reported = Instant::now();
            }
            if is_over {
                return;
            }
            // The clock is not asked for every case.
            for _ in 0..64 {
                let input = self.input();
                self.attempt(seed, input, check);
                cases += 1;
            }
        }
    }

    fn report(&self, seed: u64, cases: u64, elapsed: Duration) {
        let (name, seconds) = (self.name, elapsed.as_secs_f64());
        let speed = cases as f64 / seconds.max(0.001);
        let (reached, kept) = (self.reached.len(), self.corpus.len());
        println!(
            "{name}: seed {seed}, {seconds:.1} s, {cases} cases, {speed:.0} per second, {reached} outcomes, {kept} inputs kept"
        );
    }

    fn attempt(&mut self, seed: u64, input: Vec<u8>, check: &impl Fn(&[u8]) -> R) {
        match catch_unwind(AssertUnwindSafe(|| check(&input))) {
            Ok(reached) => {
                if self.reached.insert(reached) {
                    self.corpus.push(input);
                }
            }
            Err(_) => {
                let smaller = smaller(input, check);
                let (name, hex) = (self.name, to_hex(&smaller));
                panic!(
                    "{name}: seed {seed} found an input that fails; try it alone with\n  cargo xtask fuzz --only {name} --input {hex}"
                );
            }
        }
    }

    fn input(&mut self) -> Vec<u8> {
        let mut input = self.pick().clone();
        if self.random.u8(..) < 32 {
            let other = self.pick().clone();
            let cut = self.random.usize(..=input.len());
            input.truncate(cut);
            input.extend_from_slice(&other[self.random.usize(..=other.len())..]);
        }
        for _ in 0..1 + self.random.usize(..6) {
            let random = &mut self.random;
            Mutation {
                what: random.u8(..),
                at: random.usize(..),
                many: random.usize(..),
                value: random.u8(..),
            }
            .apply(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn pick(&mut self) -> &Vec<u8> {
        &self.corpus[self.random.usize(..self.corpus.len())]
    }
}

/// One small change to some bytes; every value of the fields means one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mutation {
    pub(super) what: u8,
    pub(super) at: usize,
    pub(super) many: usize,
    pub(super) value: u8,
}

impl Mutation {
    pub(super) fn apply(self, bytes: &mut Vec<u8>) {
        let at = self.at % (bytes.len() + 1);
        let end = at + self.many % (bytes.len() - at + 1).min(64);
        match (self.what % 8, bytes.get_mut(at)) {
            (0 | 1, Some(byte)) => *byte ^= 1 << (self.value % 8),
            (2, Some(byte)) => *byte = self.value,
            // Where numbers, lengths and signs change their meaning.
            (3, Some(byte)) => *byte = [0, 1, 0x7f, 0x80, 0xff][usize::from(self.value) % 5],
            (4, _) => bytes.truncate(at),
            (5, _) => drop(bytes.drain(at..end)),
            (6, _) => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => bytes.insert(at, self.value),
        }
    }
}

/// Takes away what is not needed for the failure.
fn smaller<R>(mut input: Vec<u8>, check: &impl Fn(&[u8]) -> R) -> Vec<u8> {
    let fails = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| check(input))).is_err();
    let loud = take_hook();
    set_hook(Box::new(|_| {}));
    let mut piece = input.len().next_power_of_two();
    while piece > 0 {
        let mut start = 0;
        while start < input.len() {
            let mut without = input.clone();
            without.drain(start..(start + piece).min(input.len()));
            if fails(&without) {
                input = without;
            } else {
                start += piece;
            }
        }
        piece /= 2;
    }
    set_hook(loud);
    input
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .expect("a variable of the campaign is a number"),
    )
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Blanks may separate what belongs together.
pub(super) fn from_hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| *byte != b' ').collect();
    assert!(digits.len().is_multiple_of(2), "half a byte is no byte");
    let value = |digit: u8| char::from(digit).to_digit(16).expect("a hexadecimal digit") as u8;
    let bytes = digits.chunks(2);
    bytes
        .map(|pair| value(pair[0]) << 4 | value(pair[1]))
        .collect()
}

mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_after_being_written_and_read() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&all)), all);
    }

    #[test]
    fn a_failing_input_is_made_as_small_as_it_can_be() {
        let check = |input: &[u8]| assert!(!input.windows(2).any(|pair| pair == [7, 7]));
        let input = [3, 1, 7, 7, 9, 7, 7, 2, 2].to_vec();
        assert_eq!(smaller(input, &check), [7, 7]);
    }
}
