//! What the numbers should be.
//!
//! A target is a share of a limit, a lead over named peers, a fixed bound, or
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

/// A goal for one figure: all of its parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target(pub(crate) &'static [Part]);

/// What ours has to be, at least or at most, whichever way is good.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// This, in the unit of the row.
    Bound(f64),
    /// This share of one of the limits.
    Share(f64, Name),
    /// This or that share of one of the limits, whichever is easier.
    BoundOrShare(f64, f64, Name),
    /// This many times better than each of these peers.
    Lead(f64, &'static [Name]),
    /// The same, or this share of one of the limits, whichever is easier.
    LeadOrShare(f64, &'static [Name], f64, Name),
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
        let met = self.0.iter().map(|part| part.met(better, ours, &of));
        let met = met.collect::<Option<Vec<_>>>()?;
        Some(met.iter().all(|met| *met)).filter(|_| !met.is_empty())
    }

    /// The target in words, or nothing where there is none.
    pub(crate) fn describe(&self, better: Better, unit: &str) -> Option<String> {
        let parts = self.0.iter().map(|part| part.describe(better, unit));
        Some(parts.collect::<Vec<_>>().join(" and ")).filter(|text| !text.is_empty())
    }
}

impl Part {
    fn met(self, better: Better, ours: f64, of: &impl Fn(Name) -> Option<f64>) -> Option<bool> {
        let reaches = |bound| better.holds(ours, bound);
        match self {
            Self::Bound(bound) => Some(reaches(bound)),
            Self::Share(share, limit) => Some(reaches(of(limit)? * share)),
            Self::BoundOrShare(bound, share, limit) => {
                Some(reaches(bound) || reaches(of(limit)? * share))
            }
            Self::Lead(times, peers) => {
                let factor = match better {
                    Better::Higher => times,
                    Better::Lower => 1.0 / times,
                };
                let bounds = peers.iter().map(|peer| Some(of(*peer)? * factor));
                Some(bounds.collect::<Option<Vec<_>>>()?.into_iter().all(reaches))
            }
            Self::LeadOrShare(times, peers, share, limit) => {
                let [lead, share] = [Self::Lead(times, peers), Self::Share(share, limit)];
                Some(lead.met(better, ours, of)? || share.met(better, ours, of)?)
            }
        }
    }

    fn describe(self, better: Better, unit: &str) -> String {
        let sign = match better {
            Better::Higher => "≥",
            Better::Lower => "≤",
        };
        let share =
            |share: f64, limit: Name| format!("{:.0} % of {}", share * 100.0, limit.label());
        match self {
            Self::Bound(bound) => format!("{sign} {} {unit}", quantity(bound)),
            Self::Share(part, limit) => format!("{sign} {}", share(part, limit)),
            Self::BoundOrShare(bound, part, limit) => {
                let bound = quantity(bound);
                format!("{sign} {bound} {unit} or {}", share(part, limit))
            }
            Self::Lead(times, peers) => {
                let peers = peers.iter().map(|peer| peer.label()).collect::<Vec<_>>();
                let peers = peers.join(", ");
                match better {
                    Better::Higher => format!("≥ {times}× the best of {peers}"),
                    Better::Lower => format!("{times}× better than the best of {peers}"),
                }
            }
            Self::LeadOrShare(times, peers, part, limit) => {
                let lead = Self::Lead(times, peers).describe(better, unit);
                format!("({lead} or {sign} {})", share(part, limit))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TELL: Target = Target(&[
        Part::Share(0.6, Name::Limit),
        Part::Lead(2.0, &[Name::Kameo]),
    ]);

    fn others(limit: f64, kameo: Option<f64>) -> impl Fn(Name) -> Option<f64> {
        move |name| match name {
            Name::Limit => Some(limit),
            Name::Kameo => kameo,
            Name::Ours | Name::Framed | Name::Tonic | Name::Ractor | Name::Actix | Name::Coerce => {
                None
            }
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
        let target = Target(&[Part::Bound(200.0)]);
        let verdict = |ours| target.verdict(Better::Lower, Some(ours), others(0.0, None));
        assert_eq!((verdict(180.0), verdict(201.0)), (Some(true), Some(false)));
    }

    #[test]
    fn a_lead_in_latency_is_a_fraction_of_the_peers() {
        let target = Target(&[Part::Lead(1.5, &[Name::Kameo])]);
        let verdict = |ours| target.verdict(Better::Lower, Some(ours), others(0.0, Some(30.0)));
        assert_eq!((verdict(20.0), verdict(21.0)), (Some(true), Some(false)));
    }

    #[test]
    fn a_share_excuses_from_a_bound_that_the_limit_itself_hardly_reaches() {
        let target = Target(&[Part::BoundOrShare(100.0, 0.8, Name::Limit)]);
        let verdict = |ours, limit| target.verdict(Better::Higher, Some(ours), others(limit, None));
        assert_eq!(verdict(90.0, 110.0), Some(true));
        assert_eq!(verdict(110.0, 500.0), Some(true));
        assert_eq!(verdict(90.0, 500.0), Some(false));
    }

    #[test]
    fn nobody_must_lead_by_more_than_a_limit_allows() {
        let target = Target(&[Part::LeadOrShare(1.5, &[Name::Kameo], 1.1, Name::Limit)]);
        let verdict = |ours, limit, kameo| {
            let of = others(limit, Some(kameo));
            target.verdict(Better::Lower, Some(ours), of).unwrap()
        };
        assert!(verdict(16.0, 10.0, 24.0) && !verdict(17.0, 10.0, 24.0));
        assert!(verdict(17.0, 15.5, 24.0) && !verdict(17.5, 15.5, 24.0));
    }

    #[test]
    fn no_parts_give_no_verdict() {
        let verdict = Target::default().verdict(Better::Higher, Some(1.0), others(1.0, None));
        assert_eq!(verdict, None);
    }
}
