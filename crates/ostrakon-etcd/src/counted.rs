//! A lease as it is stored: JSON that etcd itself can compare.
//!
//! etcd compares values byte by byte. The counters have leading zeros, and are therefore strings, because JSON allows no such numbers; `seq`
//! is first. So "counted less far than this" is one condition of a transaction.

use ostrakon_storage::Renewal;
use serde::Deserialize;

#[derive(Deserialize)]
struct Stored {
    seq: String,
    ok_seq: String,
}

/// What is stored for a renewal.
pub(crate) fn text(renewal: Renewal) -> String {
    format!(
        "{},\"ok_seq\":\"{:020}\"}}",
        least(renewal.seq),
        renewal.ok_seq
    )
}

/// What is greater than all renewals before this number, and smaller than those that have it.
pub(crate) fn least(seq: u64) -> String {
    format!("{{\"seq\":\"{seq:020}\"")
}

/// The renewal that was stored; `None` if it is none.
pub(crate) fn renewal(text: &str) -> Option<Renewal> {
    let stored: Stored = serde_json::from_str(text).ok()?;
    Some(Renewal {
        seq: stored.seq.parse().ok()?,
        ok_seq: stored.ok_seq.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVENTH: Renewal = Renewal { seq: 7, ok_seq: 6 };

    #[test]
    fn a_renewal_is_read_as_it_was_stored() {
        assert_eq!(renewal(&text(SEVENTH)), Some(SEVENTH));
        let most = Renewal {
            seq: u64::MAX,
            ok_seq: u64::MAX,
        };
        assert_eq!(renewal(&text(most)), Some(most));
        assert_eq!(renewal("7"), None);
    }

    #[test]
    fn only_what_has_counted_less_far_is_smaller() {
        assert!(text(SEVENTH) < least(8));
        assert!(text(SEVENTH) < least(10));
        assert!(text(SEVENTH) > least(7));
        assert!(text(SEVENTH) > least(6));
    }
}
