//! `Nobody`: the far end of a reply that nobody waits for any more, in the place of one that somebody did.

use std::sync::Arc;

use super::{AnswerBytes, AnswerPort, AnswerSink, Delivery, ItemsPort, Port};
use crate::{
    AskError, Codec, CodecError,
    reply::{Answered, AskId, Settle},
    stream::{ConsumerGone, Credit, EndOfItems, ItemsSink},
};

pub(crate) struct Nobody {
    /// Closed, so that whoever produces items stops.
    credit: Arc<Credit>,
}

impl Nobody {
    pub(crate) fn answer(codec: Codec) -> Port {
        Port::Answer(AnswerPort::new(codec, Self::new()))
    }

    pub(crate) fn items(codec: Codec) -> Port {
        let sink = Self::new();
        Port::Items(ItemsPort { codec, sink })
    }

    fn new() -> Arc<Self> {
        let credit = Arc::new(Credit::new());
        credit.close();
        Arc::new(Self { credit })
    }
}

impl Settle for Nobody {
    fn id(&self) -> AskId {
        AskId::of(self)
    }

    fn set_out(&self) {}

    fn begin(&self) -> bool {
        false
    }

    fn handled(&self) {}

    fn fail(&self, _: AskError) {}

    fn let_go(&self) {}

    fn forget(&self) {}

    fn is_over(&self) -> bool {
        true
    }
}

impl AnswerSink for Nobody {
    fn deliver(&self, _: Codec, _: Result<AnswerBytes<'_>, CodecError>) -> Delivery {
        Answered::TooLate.into()
    }

    fn copied(&self) {}

    fn dropped(&self) {}
}

impl ItemsSink for Nobody {
    fn deliver(&self, _: Codec, _: &[u8]) -> Result<(), ConsumerGone> {
        Err(ConsumerGone)
    }

    fn end(&self, _: EndOfItems) {}

    fn credit(&self) -> &Arc<Credit> {
        &self.credit
    }
}
