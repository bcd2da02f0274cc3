//! The entities of the scenarios.

use std::time::Duration;

use ostrakon::{AskError, Context, EntityStream, Reply, StreamReply, entity};

use crate::gate::Gate;

/// Keeps what it is told, and says where it lives.
#[derive(Default)]
pub(crate) struct Citizen {
    notes: Vec<u64>,
}

#[entity(kind = "citizen")]
impl Citizen {
    /// Adds a note; answers how many there are.
    pub(crate) async fn note(&mut self, note: u64) -> u64 {
        self.notes.push(note);
        self.notes.len() as u64
    }

    pub(crate) async fn notes(&self) -> Vec<u64> {
        self.notes.clone()
    }

    pub(crate) async fn node(&self, ctx: &Context<Self>) -> String {
        ctx.node().name().to_string()
    }

    pub(crate) async fn epoch(&self, ctx: &Context<Self>) -> u64 {
        ctx.epoch().get()
    }

    /// Knocks, and waits until the gate opens.
    pub(crate) async fn wait(&mut self, gate: String) {
        let gate = Gate::of(&gate);
        gate.knock();
        gate.opened().await;
    }

    pub(crate) async fn fail(&mut self) {
        panic!("as it was told to")
    }

    /// The numbers up to this one.
    async fn count(&self, to: u64, items: StreamReply<u64>, ctx: &Context<Self>) {
        ctx.spawn(async move {
            for number in 0..to {
                if items.send(number).await.is_err() {
                    return;
                }
            }
            items.finish().await;
        });
    }

    /// The same without end.
    async fn count_on(&self, gate: String, items: StreamReply<u64>, ctx: &Context<Self>) {
        let gate = Gate::of(&gate);
        ctx.spawn(async move {
            for number in 0.. {
                gate.knock();
                if items.send(number).await.is_err() {
                    break;
                }
            }
            gate.open();
        });
    }

    /// Knocks after a while, and waits until the gate opens.
    pub(crate) async fn remind(&self, after_millis: u64, gate: String, ctx: &Context<Self>) {
        let reply = Reply::ignored();
        let message = CitizenMessage::Wait { gate, reply };
        ctx.schedule(Duration::from_millis(after_millis), message);
    }
}

/// The numbers up to this one, as a citizen counts them.
pub(crate) async fn numbers(citizen: &CitizenRef, to: u64) -> Result<EntityStream<u64>, AskError> {
    let message = |items| CitizenMessage::Count {
        to,
        items,
        reply: Reply::ignored(),
    };
    citizen.as_ref().stream(message).await
}

/// Numbers without end. The gate is knocked at for each, and opens when the citizen does not count any more.
pub(crate) async fn endless(
    citizen: &CitizenRef,
    gate: String,
) -> Result<EntityStream<u64>, AskError> {
    let message = |items| CitizenMessage::CountOn {
        gate,
        items,
        reply: Reply::ignored(),
    };
    citizen.as_ref().stream(message).await
}

/// One that sleeps soon when it has nothing to do; it opens the gate that it is named after.
#[derive(Default)]
pub(crate) struct Sleeper {
    visits: u64,
}

#[entity(kind = "sleeper")]
impl Sleeper {
    pub(crate) async fn visit(&mut self) -> u64 {
        self.visits += 1;
        self.visits
    }

    #[stop]
    async fn sleep(&mut self, ctx: &mut Context<Self>) {
        Gate::of(ctx.id().as_str()).open();
    }
}

/// The one that runs without being asked. It knocks at the gate that it is named after when it begins.
#[derive(Default)]
pub(crate) struct Mayor;

#[entity(kind = "mayor")]
impl Mayor {
    #[start]
    async fn begin(&mut self, ctx: &mut Context<Self>) {
        Gate::of(ctx.id().as_str()).knock();
    }

    pub(crate) async fn node(&self, ctx: &Context<Self>) -> String {
        ctx.node().name().to_string()
    }
}

/// One that nobody hosts.
#[derive(Default)]
pub(crate) struct Ghost;

#[entity(kind = "ghost")]
impl Ghost {
    pub(crate) async fn haunt(&self) {}
}
