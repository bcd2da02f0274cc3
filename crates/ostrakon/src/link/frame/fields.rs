//! `Fields`: numbers, sections and texts, of which everything in a frame is made.

use ostrakon_core::ShardId;

use super::BadFrame;

/// What has not been read yet of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn byte(&mut self) -> Result<u8, BadFrame> {
        let (first, rest) = self.0.split_first().ok_or(BadFrame::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    /// Seven bits to a byte, the lowest first; the high bit says that more follow.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, BadFrame> {
        match *self.0 {
            // Most are small.
            [byte, ref rest @ ..] if byte < 0x80 => {
                self.0 = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, BadFrame> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(BadFrame::BadNumber);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BadFrame::BadNumber)
    }

    pub(super) fn small(&mut self) -> Result<u32, BadFrame> {
        u32::try_from(self.number()?).map_err(|_| BadFrame::BadNumber)
    }

    pub(super) fn shard(&mut self) -> Result<ShardId, BadFrame> {
        shard_id(self.number()?)
    }

    pub(crate) fn section(&mut self) -> Result<&'a [u8], BadFrame> {
        let length = usize::try_from(self.number()?).map_err(|_| BadFrame::BadNumber)?;
        let (section, rest) = self.0.split_at_checked(length).ok_or(BadFrame::Truncated)?;
        self.0 = rest;
        Ok(section)
    }

    pub(crate) fn text(&mut self, most: usize) -> Result<&'a str, BadFrame> {
        let section = self.section()?;
        if section.len() > most {
            return Err(BadFrame::LongName);
        }
        std::str::from_utf8(section).map_err(|_| BadFrame::BadText)
    }
}

pub(super) fn shard_id(number: u64) -> Result<ShardId, BadFrame> {
    let number = u32::try_from(number).ok();
    number.and_then(ShardId::new).ok_or(BadFrame::BadNumber)
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_section(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
