//! The absence: once all is well, every manager ends for a while, and where nodes count their leases in the storage nobody may notice.
//!
//! Every shard has an owner that acts, at every look; what is not required is that anything changes.

use super::World;
use crate::{
    agenda::{Moment, SECOND},
    invariant::Checked,
};

/// Longer than any lease lasts by itself.
pub(crate) const LASTS: Moment = 40 * SECOND;

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Absence {
    #[default]
    ToCome,
    Until(Moment),
    Over,
}

impl World {
    /// Looks at it, if there is one to come or under way; `false`: there is none.
    pub(super) fn look_at_absence(&mut self) -> bool {
        match self.absence {
            Absence::ToCome if !self.setup.shares_storage => self.absence = Absence::Over,
            Absence::ToCome if self.is_well().is_ok() => self.managers_go(),
            Absence::Until(end) if self.now < end => {
                let checked = self.owners_act();
                self.oracle
                    .judge(self.now, "nodes act without managers", checked);
            }
            Absence::Until(_) => self.absence = Absence::Over,
            Absence::ToCome | Absence::Over => {}
        }
        matches!(self.absence, Absence::Until(_))
    }

    fn managers_go(&mut self) {
        self.trace
            .write(self.now, || "    all is well; managers go".to_owned());
        for manager in 0..self.setup.managers {
            self.ends_for(self.setup.manager_site(manager), LASTS);
        }
        self.absence = Absence::Until(self.now + LASTS);
    }

    fn owners_act(&self) -> Checked {
        for key in &self.setup.keys {
            let ownership = self.oracle.state.ownership(key);
            let Some((by, epoch)) = ownership.and_then(|ownership| ownership.owner()) else {
                return Err(format!("{key} is nobody's"));
            };
            let acts = |node: usize| {
                let region = &self.nodes[node].as_ref()?.region;
                region.acts(key, self.local(node))
            };
            if !(0..self.setup.nodes).any(|node| acts(node) == Some(epoch)) {
                return Err(format!("{key} is {by}'s at {epoch}, which does not act"));
            }
        }
        Ok(())
    }
}
