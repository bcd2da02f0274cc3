//! What the numbers should be.
//!
//! A target is a share of the limit, a lead over named peers, a fixed bound, or
//! several of these; it is met when all of them are. Where a number it needs is
//! missing the verdict is missing too.

use crate::contenders::Name;
use crate::table::quantity;

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Higher,
    Lower,
}

impl Better {
    /// Whether `value` is at least as good as `bound`.
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Higher => value >= bound,
            Self::Lower => value <= bound,
        }
    }

    /// The better of two values.
    pub(crate) fn pick(self, one: f64, other: f64) -> f64 {
        if self.holds(one, other) { one } else { other }
    }
}

/// A goal for one figure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target {
    /// At least this share of the limit.
    pub(crate) of_limit: Option<f64>,
    /// At least this many times each of these peers.
    pub(crate) over_peers: Option<(f64, &'static [Name])>,
    /// At least (or at most) this, in the unit of the row.
    pub(crate) bound: Option<f64>,
}

impl Target {
    /// Met, missed, or not to be said.
    pub(crate) fn verdict(
        &self,
        better: Better,
        ours: Option<f64>,
        of: impl Fn(Name) -> Option<f64>,
    ) -> Option<bool> {
        let ours = ours?;
        let mut bounds = Vec::from_iter(self.bound);
        if let Some(share) = self.of_limit {
            bounds.push(of(Name::Limit)? * share);
        }
        if let Some((times, peers)) = self.over_peers {
            for peer in peers {
                bounds.push(of(*peer)? * times);
            }
        }
        if bounds.is_empty() {
            return None;
        }
        Some(bounds.iter().all(|bound| better.holds(ours, *bound)))
    }

    /// The target in words, or nothing where there is none.
    pub(crate) fn describe(&self, better: Better, unit: &str) -> Option<String> {
        let sign = match better {
            Better::Higher => "≥",
            Better::Lower => "≤",
        };
        let bound = self
            .bound
            .map(|bound| format!("{sign} {} {unit}", quantity(bound)));
        let share = self
            .of_limit
            .map(|share| format!("{sign} {:.0} % of limit", share * 100.0));
        let lead = self.over_peers.map(|(times, peers)| {
            let peers = peers.iter().map(|peer| peer.label()).collect::<Vec<_>>();
            format!("{sign} {times}× the best of {}", peers.join(", "))
        });
        let parts = [bound, share, lead].into_iter().flatten();
        Some(parts.collect::<Vec<_>>().join(" and ")).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TELL: Target = Target {
        of_limit: Some(0.6),
        over_peers: Some((2.0, &[Name::Kameo])),
        bound: None,
    };

    fn others(limit: f64, kameo: Option<f64>) -> impl Fn(Name) -> Option<f64> {
        move |name| match name {
            Name::Limit => Some(limit),
            Name::Kameo => kameo,
            Name::Ours | Name::Ractor | Name::Actix => None,
        }
    }

    #[test]
    fn a_target_is_met_only_when_every_part_is() {
        let verdict = |ours| TELL.verdict(Better::Higher, Some(ours), others(10.0, Some(4.0)));
        assert_eq!(verdict(8.0), Some(true));
        assert_eq!(verdict(7.0), Some(false));
        assert_eq!(verdict(5.0), Some(false));
    }

    #[test]
    fn a_missing_number_leaves_the_verdict_open() {
        let unmeasured = TELL.verdict(Better::Higher, None, others(10.0, Some(4.0)));
        let peerless = TELL.verdict(Better::Higher, Some(9.0), others(10.0, None));
        assert_eq!((unmeasured, peerless), (None, None));
    }

    #[test]
    fn a_bound_on_bytes_is_an_upper_one() {
        let target = Target {
            bound: Some(200.0),
            ..Target::default()
        };
        let verdict = |ours| target.verdict(Better::Lower, Some(ours), others(0.0, None));
        assert_eq!((verdict(180.0), verdict(201.0)), (Some(true), Some(false)));
    }
}
