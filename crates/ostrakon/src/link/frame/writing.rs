//! How frames are written, a function for each kind. Messages write themselves.

use ostrakon_core::{Epoch, ShardId};

use super::{
    EndOfStream, LENGTH, RequestId,
    fields::{put_number, put_section},
    kind,
};
use crate::link::fault::Fault;

/// Writes one frame behind `out`: the length is filled in when all is written.
pub(super) fn put(
    out: &mut Vec<u8>,
    kind: u8,
    request: RequestId,
    fields: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    out.push(kind);
    put_number(out, request);
    fields(out);
    let length = u32::try_from(out.len() - start - LENGTH).expect("messages have a limit");
    out[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
}

pub(crate) fn put_returned(out: &mut Vec<u8>, owner: &str, epoch: Epoch, message: &[u8]) {
    put(out, kind::RETURNED, 0, |out| {
        put_section(out, owner.as_bytes());
        put_number(out, epoch.get());
        out.extend_from_slice(message);
    });
}

pub(crate) fn put_answer(out: &mut Vec<u8>, request: RequestId, bytes: &[u8]) {
    put(out, kind::ANSWER, request, |out| {
        out.extend_from_slice(bytes)
    });
}

pub(crate) fn put_fault(out: &mut Vec<u8>, request: RequestId, fault: &Fault<'_>) {
    put(out, kind::FAULT, request, |out| fault.write(out));
}

pub(crate) fn put_dropped(out: &mut Vec<u8>, kind: &str, id: &str, fault: &Fault<'_>) {
    put(out, kind::DROPPED, 0, |out| {
        put_section(out, kind.as_bytes());
        put_section(out, id.as_bytes());
        fault.write(out);
    });
}

pub(crate) fn put_item(out: &mut Vec<u8>, request: RequestId, bytes: &[u8]) {
    put(out, kind::ITEM, request, |out| out.extend_from_slice(bytes));
}

pub(crate) fn put_end(out: &mut Vec<u8>, request: RequestId, how: EndOfStream) {
    put(out, kind::END, request, |out| out.push(how.number()));
}

pub(crate) fn put_credit(out: &mut Vec<u8>, request: RequestId, units: u32) {
    put(out, kind::CREDIT, request, |out| {
        put_number(out, u64::from(units))
    });
}

pub(crate) fn put_cancel(out: &mut Vec<u8>, request: RequestId) {
    put(out, kind::CANCEL, request, |_| {});
}

pub(crate) fn put_fence(out: &mut Vec<u8>, token: RequestId, group: &str, shard: ShardId) {
    put(out, kind::FENCE, token, |out| {
        put_section(out, group.as_bytes());
        put_number(out, u64::from(shard.get()));
    });
}

pub(crate) fn put_fenced(out: &mut Vec<u8>, token: RequestId) {
    put(out, kind::FENCED, token, |_| {});
}

pub(crate) fn put_part(out: &mut Vec<u8>, bytes: &[u8], last: bool) {
    put(out, kind::PART, 0, |out| {
        out.push(u8::from(last));
        out.extend_from_slice(bytes);
    });
}

pub(crate) fn put_parts_read(out: &mut Vec<u8>, bytes: u64) {
    put(out, kind::PARTS_READ, 0, |out| put_number(out, bytes));
}

pub(crate) fn put_ping(out: &mut Vec<u8>, token: RequestId) {
    put(out, kind::PING, token, |_| {});
}

pub(crate) fn put_pong(out: &mut Vec<u8>, token: RequestId) {
    put(out, kind::PONG, token, |_| {});
}

pub(crate) fn put_goodbye(out: &mut Vec<u8>, reason: &str) {
    put(out, kind::GOODBYE, 0, |out| {
        put_section(out, reason.as_bytes())
    });
}
