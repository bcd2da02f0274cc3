//! `Decider`: one of those who may decide, while it can be spoken to.

use ostrakon_control::{FromNode, Mouth};

/// Whoever lets more than this wait has better things to hear than what is only for people.
const BUSY: usize = 32;

pub(crate) struct Decider {
    pub(crate) mouth: Mouth<FromNode>,
    /// The newest version of the conversation that both speak.
    pub(crate) version: u16,
}

impl Decider {
    pub(crate) fn say(&self, words: FromNode) {
        self.mouth.say(words);
    }

    /// Says what nobody misses who does not hear it: only to those who know what it is, and have time.
    pub(crate) fn mention(&self, words: &FromNode) {
        if words.since() <= self.version && self.mouth.waiting() < BUSY {
            self.mouth.say(words.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_control::Conversation;

    use super::*;

    #[tokio::test]
    async fn what_is_only_for_people_goes_to_those_who_know_it_and_have_time() {
        let vitals = FromNode::Vitals(Box::default());
        for (version, waits) in [(1, 0), (2, BUSY)] {
            let (wire, _far) = tokio::io::duplex(1);
            let (_conversation, mouth) = Conversation::new(Box::new(wire));
            let decider = Decider { mouth, version };
            for _ in 0..BUSY + 5 {
                decider.mention(&vitals);
            }
            assert_eq!(decider.mouth.waiting(), waits);
            decider.say(FromNode::Pong);
            assert_eq!(decider.mouth.waiting(), waits + 1);
        }
    }
}
