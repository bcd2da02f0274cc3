//! Who takes part in which measure.
//!
//! By what they are able to do; who could but does not exist in this build is
//! sorted out later, so that its absence can be explained.

use crate::contenders::Name;
use crate::measure::Measure;

const LOCAL: &[Name] = &[
    Name::Limit,
    Name::Ours,
    Name::Kameo,
    Name::Ractor,
    Name::Actix,
];
const REMOTE: &[Name] = &[
    Name::Limit,
    Name::Framed,
    Name::Ours,
    Name::Tonic,
    Name::Ractor,
    Name::Kameo,
    Name::Coerce,
];
/// Without kameo, whose transport closes a connection with more than 512 calls in
/// flight.
const REMOTE_CROWD: &[Name] = &[
    Name::Limit,
    Name::Framed,
    Name::Ours,
    Name::Tonic,
    Name::Ractor,
    Name::Coerce,
];
/// Without coerce, whose sharded actors can only be asked.
const REMOTE_TELL: &[Name] = &[
    Name::Limit,
    Name::Framed,
    Name::Ours,
    Name::Tonic,
    Name::Ractor,
    Name::Kameo,
];

/// Who takes part, in the order of their turns.
pub(crate) fn entrants(measure: Measure) -> &'static [Name] {
    match measure {
        Measure::TellUnbounded => &[Name::Limit],
        Measure::Hot => &[Name::Limit, Name::Ours],
        Measure::Tell
        | Measure::Ask1
        | Measure::Ask64
        | Measure::Ask64Over1000
        | Measure::Ask64Over1000ById
        | Measure::Memory => LOCAL,
        Measure::RemoteAsk1
        | Measure::RemoteAsk64
        | Measure::RemoteAsk256
        | Measure::RemoteAsk256Of4K => REMOTE,
        Measure::RemoteAsk1024 => REMOTE_CROWD,
        Measure::RemoteTell | Measure::RemoteTell4K => REMOTE_TELL,
        Measure::RemoteStream | Measure::RemoteStream4K => &[Name::Limit, Name::Ours],
        Measure::RemoteTls | Measure::RemoteTls4K | Measure::RemoteBurst | Measure::Plan => {
            &[Name::Ours]
        }
    }
}
