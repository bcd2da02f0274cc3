//! Messages for later: once, again and again, and not any more.

use std::time::Duration;

use ostrakon::{Context, Node, Reply, Timer, entity};
use tokio::time::sleep;

use crate::Setup;

twice! {
    a_message_for_later_comes_once,
    a_tick_comes_in_every_period,
    a_cancelled_tick_stops,
    a_cancelled_message_never_comes,
}

/// Counts how often it rang.
#[derive(Default)]
struct Alarm {
    rings: u32,
    timer: Option<Timer>,
}

#[entity(kind = "alarm")]
impl Alarm {
    async fn ring_after(&mut self, delay: Duration, ctx: &mut Context<Self>) {
        self.timer = Some(ctx.schedule(delay, ring()));
    }

    async fn ring_every(&mut self, period: Duration, ctx: &mut Context<Self>) {
        self.timer = Some(ctx.schedule_every(period, ring));
    }

    async fn cancel(&mut self) {
        self.timer.take().unwrap().cancel();
    }

    async fn ring(&mut self) {
        self.rings += 1;
    }

    async fn rings(&self) -> u32 {
        self.rings
    }
}

fn ring() -> AlarmMessage {
    AlarmMessage::Ring {
        reply: Reply::ignored(),
    }
}

const PERIOD: Duration = Duration::from_millis(100);

async fn alarm(setup: Setup) -> (Node, AlarmRef) {
    let node = setup(Node::builder("solo").host::<Alarm>());
    let node = node.start().await.unwrap();
    let alarm = node.entity::<Alarm>("a");
    (node, alarm)
}

// Casty, scheduler: a message that is scheduled once comes after its delay, and only once.
async fn a_message_for_later_comes_once(setup: Setup) {
    let (node, alarm) = alarm(setup).await;
    alarm.ring_after(PERIOD).await.unwrap();
    sleep(PERIOD / 2).await;
    assert_eq!(alarm.rings().await, Ok(0), "not yet");
    sleep(PERIOD).await;
    assert_eq!(alarm.rings().await, Ok(1));
    sleep(PERIOD * 100).await;
    assert_eq!(alarm.rings().await, Ok(1));
    node.leave().await.unwrap();
}

// Casty, scheduler: a tick comes in every interval.
async fn a_tick_comes_in_every_period(setup: Setup) {
    let (node, alarm) = alarm(setup).await;
    alarm.ring_every(PERIOD).await.unwrap();
    sleep(PERIOD / 2).await;
    for rings in 0..=20 {
        assert_eq!(alarm.rings().await, Ok(rings));
        sleep(PERIOD).await;
    }
    node.leave().await.unwrap();
}

// Casty, scheduler: after the schedule is cancelled nothing more comes.
async fn a_cancelled_tick_stops(setup: Setup) {
    let (node, alarm) = alarm(setup).await;
    alarm.ring_every(PERIOD).await.unwrap();
    sleep(PERIOD * 7 / 2).await;
    alarm.cancel().await.unwrap();
    assert_eq!(alarm.rings().await, Ok(3));
    sleep(PERIOD * 100).await;
    assert_eq!(alarm.rings().await, Ok(3));
    node.leave().await.unwrap();
}

// Casty, scheduler: what is scheduled once can be cancelled, too.
async fn a_cancelled_message_never_comes(setup: Setup) {
    let (node, alarm) = alarm(setup).await;
    alarm.ring_after(PERIOD).await.unwrap();
    alarm.cancel().await.unwrap();
    sleep(PERIOD * 100).await;
    assert_eq!(alarm.rings().await, Ok(0));
    node.leave().await.unwrap();
}
