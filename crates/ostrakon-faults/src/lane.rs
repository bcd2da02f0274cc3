//! One direction of one connection: reads a chunk, lets the rules and its fate do their worst to it,
//! and forwards what is left.
//!
//! Invariants: at most one chunk is in memory, so backpressure passes through; bytes keep their order;
//! and no byte is written while the rules, locked for the moment of writing, forbid it.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::tcp::{ReadHalf, WriteHalf},
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    Chaos, Direction,
    control::{Control, settled},
    dice::Dice,
    fate::{Blow, Fate},
    rules::Rules,
};

pub(crate) struct Lane<'a> {
    pub(crate) direction: Direction,
    pub(crate) generation: u64,
    pub(crate) from: ReadHalf<'a>,
    pub(crate) to: WriteHalf<'a>,
    pub(crate) control: &'a Control,
    pub(crate) rules: watch::Receiver<Rules>,
    pub(crate) dice: Dice,
}

/// The connection is to be reset, because a peer or the proxy broke it.
#[derive(Debug)]
pub(crate) struct Broken;

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Lane<'_> {
    /// Ends well once the sender's end of stream has been passed on.
    pub(crate) async fn carry(mut self) -> Result<(), Broken> {
        let mut buffer = vec![0; LONGEST_CHUNK];
        loop {
            let length = self.from.read(&mut buffer).await?;
            if length == 0 {
                self.pass_gate().await;
                return Ok(self.to.shutdown().await?);
            }
            self.pass_on(&mut buffer[..length]).await?;
        }
    }

    async fn pass_on(&mut self, chunk: &mut [u8]) -> Result<(), Broken> {
        let chaos = self.rules.borrow().chaos;
        let mut fate = self.dice.roll(chaos);
        self.hold_back(&fate, chaos).await;
        // Orders are taken behind the gate: one given during a stall is meant for the held chunk.
        self.pass_gate().await;
        if self.rules.borrow().chaos != chaos {
            fate.lift();
        }
        let ordered = self.control.take_ordered(self.direction);
        match ordered.or(fate.blow) {
            None => self.forward(chunk, &fate).await,
            Some(Blow::Corrupt) => {
                self.control.count(|mischief| mischief.corruptions += 1);
                fate.flip_one_bit(chunk);
                self.forward(chunk, &fate).await
            }
            Some(Blow::Truncate) => {
                self.control.count(|mischief| mischief.truncations += 1);
                let prefix = fate.prefix_of(chunk);
                self.forward(prefix, &fate).await?;
                Err(Broken)
            }
            Some(Blow::Cut) => {
                self.control.count(|mischief| mischief.cuts += 1);
                Err(Broken)
            }
        }
    }

    async fn hold_back(&mut self, fate: &Fate, chaos: Chaos) {
        if let Some(stall) = fate.stall {
            self.control.count(|mischief| mischief.stalls += 1);
            self.hold(stall, |rules| rules.chaos == chaos).await;
        }
        if let Some(delay) = fate.delay {
            self.control.count(|mischief| mischief.delays += 1);
            self.hold(delay, |rules| rules.chaos == chaos).await;
        }
        let delay = self.rules.borrow().delay;
        if !delay.is_zero() {
            self.control.count(|mischief| mischief.delays += 1);
            self.hold(delay, |rules| rules.delay == delay).await;
        }
    }

    async fn forward(&mut self, bytes: &[u8], fate: &Fate) -> Result<(), Broken> {
        let piece = fate
            .split
            .map_or(LONGEST_CHUNK, |split| split.piece_of(bytes));
        let is_split = piece < bytes.len();
        if is_split {
            self.control.count(|mischief| mischief.splits += 1);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = self.paced(piece.min(rest.len())).await;
            let (piece, later) = rest.split_at(length);
            self.write(piece).await?;
            if is_split && !later.is_empty() {
                sleep(BETWEEN_PIECES).await;
            }
            rest = later;
        }
        Ok(())
    }

    /// How many bytes may go next, after the time that a slow line would have taken for them.
    async fn paced(&mut self, length: usize) -> usize {
        let Some(rate) = self.rules.borrow().bytes_per_second else {
            return length;
        };
        let smooth = usize::try_from(rate / PIECES_PER_SECOND).unwrap_or(usize::MAX);
        let length = length.min(smooth.max(1));
        let time = Duration::from_secs_f64(length as f64 / f64::from(rate));
        sleep(time).await;
        length
    }

    async fn write(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        while !bytes.is_empty() {
            self.pass_gate().await;
            self.to.writable().await?;
            match self.try_write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The rules stay locked while writing: once `stall` or `cut` has returned, not a byte passes.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let rules = self.rules.borrow();
        if !is_open(&rules, self.direction, self.generation) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let write = || self.to.try_write(bytes);
        self.control.count_bytes(self.direction, write)
    }

    /// Waits out a stall. Waits for ever behind a cut, as the link then drops this lane.
    async fn pass_gate(&mut self) {
        let (direction, generation) = (self.direction, self.generation);
        if self.rules.borrow().is_stalled(direction) {
            self.control.count(|mischief| mischief.stalls += 1);
        }
        settled(&mut self.rules, |rules| {
            is_open(rules, direction, generation)
        })
        .await;
    }

    /// Lets time pass, but no longer than the rule behind it stands.
    async fn hold(&mut self, time: Duration, stands: impl Fn(&Rules) -> bool) {
        let lifted = settled(&mut self.rules, |rules| !stands(rules));
        // Which of the two came first makes no difference.
        let _ = timeout(time, lifted).await;
    }
}

const fn is_open(rules: &Rules, direction: Direction, generation: u64) -> bool {
    !rules.is_stalled(direction) && rules.generation == generation
}

const LONGEST_CHUNK: usize = 16 * 1024;
/// Long enough for the receiver to wake up for each piece, as a rule.
const BETWEEN_PIECES: Duration = Duration::from_millis(1);
const PIECES_PER_SECOND: u32 = 50;
