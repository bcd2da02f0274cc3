//! `Seat`: an entity's place as its turn sees it.
//!
//! For every message a turn asks who the entity is, whether it was killed and whether the lease lasts. The cell knows, but whoever sends to the entity
//! writes to its cell all the time, and memory that one core writes is slow to read for another. So a turn reads what is hardly ever
//! written, and the cell only when there is a reason to.

use std::sync::Arc;

use ostrakon_core::EntityId;

use super::{cell::Cell, home::Home, kind::Kind};
use crate::{
    Entity,
    lease::{Acting, Who},
};

pub(crate) struct Seat<'c, E: Entity> {
    pub(crate) cell: &'c Arc<Cell<E>>,
    pub(crate) home: &'c Home<E>,
    pub(crate) kind: &'c Kind<E>,
    pub(crate) id: EntityId,
}

impl<'c, E: Entity> Seat<'c, E> {
    pub(crate) fn of(cell: &'c Arc<Cell<E>>) -> Self {
        Self {
            cell,
            home: &cell.home,
            kind: &cell.home.kind,
            id: cell.id.clone(),
        }
    }

    #[inline]
    pub(crate) fn is_killed(&self) -> bool {
        self.home.has_killed() && self.cell.is_killed()
    }

    /// A poll of its code begins. `None`: the lease is over, it must not begin.
    #[inline]
    pub(crate) fn acts(&self) -> Option<Acting> {
        self.kind.runtime.lease.acts(|| self.who())
    }

    /// A call of its code begins that belongs to a turn for which the lease has lasted.
    #[inline]
    pub(crate) fn goes_on(&self) -> Acting {
        self.kind.runtime.lease.goes_on(|| self.who())
    }

    fn who(&self) -> Who {
        Who::Entity(E::KIND, self.id.clone())
    }
}
