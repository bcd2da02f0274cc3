//! `Inbox`: the bytes that have been read, cut into frames.
//!
//! Nothing is allocated on the word of the other side: the buffer has a bound that no frame may exceed, and a large
//! message grows only as its parts really arrive.

use std::{mem, ops::Range};

use tokio::io::ReadBuf;

use super::frame::{self, BadFrame, MOST};

/// What a quiet connection holds.
const SMALLEST: usize = 16 * 1024;
/// Room for what a fast one receives at a time, and for the longest frame in any case.
const LARGEST: usize = 256 * 1024;

pub(crate) struct Inbox {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    assembling: Vec<u8>,
    limit: usize,
}

impl Inbox {
    /// An inbox for messages of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            assembling: Vec::new(),
            limit,
        }
    }

    /// The free space, to be read into; [`Inbox::filled`] says how much was.
    pub(crate) fn space(&mut self) -> ReadBuf<'_> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.buffer.len() - self.end < MOST {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            let size = (self.buffer.len() * 4).clamp(SMALLEST, LARGEST);
            self.buffer.resize(size, 0);
        }
        ReadBuf::new(&mut self.buffer[self.end..])
    }

    pub(crate) fn filled(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// The next whole frame, without its length.
    pub(crate) fn next(&mut self) -> Result<Option<Range<usize>>, BadFrame> {
        let rest = &self.buffer[self.start..self.end];
        let Some(length) = frame::length(rest) else {
            return Ok(None);
        };
        if length > MOST {
            return Err(BadFrame::TooLong { length });
        }
        if length > rest.len() {
            return Ok(None);
        }
        let frame = self.start + 4..self.start + length;
        self.start += length;
        Ok(Some(frame))
    }

    /// How many bytes have been read and not been taken as frames.
    pub(crate) fn unread(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn bytes(&self, frame: Range<usize>) -> &[u8] {
        &self.buffer[frame]
    }

    /// Adds a part to the large frame that is being received; the last one completes it.
    pub(crate) fn part(
        &mut self,
        part: Range<usize>,
        last: bool,
    ) -> Result<Option<Vec<u8>>, BadFrame> {
        let length = self.assembling.len() + part.len();
        // The limit is on the payload; names and numbers come on top.
        if length > self.limit + MOST {
            let limit = self.limit;
            return Err(BadFrame::LongMessage { length, limit });
        }
        self.assembling.extend_from_slice(&self.buffer[part]);
        if !last {
            return Ok(None);
        }
        let whole = mem::take(&mut self.assembling);
        if frame::length(&whole) != Some(whole.len()) || frame::is_part(&whole) {
            return Err(BadFrame::Truncated);
        }
        Ok(Some(whole))
    }
}

#[cfg(test)]
pub(super) mod tests;
