//! A stream of items as server-sent events.
//!
//! ```text
//!   data: <item>                       as often as there are items
//!   event: end      data: null         the entity has said all
//!   event: failed   data: <problem>    it has not, and will not
//! ```
//!
//! The next item is fetched when the connection has room for it, so a caller that does not read slows the entity's stream down. A caller that goes
//! away ends it: what is dropped with the connection is the stream.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::stream::unfold;
use ostrakon::{EntityStream, Payload};
use tokio::sync::OwnedSemaphorePermit;

use crate::problem::Problem;

/// So often a stream says that it is still there, while it has nothing else to say.
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(crate) fn events<T: Payload>(items: EntityStream<T>, place: OwnedSemaphorePermit) -> Response {
    let events = unfold(Some((items, place)), |open| async {
        let (mut items, place) = open?;
        let (event, is_last) = next(&mut items).await;
        let open = (!is_last).then_some((items, place));
        Some((Ok::<_, Infallible>(event), open))
    });
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Sse::new(events).keep_alive(heartbeat).into_response()
}

/// The next event, and whether it is the last one.
async fn next<T: Payload>(items: &mut EntityStream<T>) -> (Event, bool) {
    match items.next().await {
        Some(Ok(item)) => match Event::default().json_data(&item) {
            Ok(event) => (event, false),
            Err(error) => (failed(&Problem::no_event(&error)), true),
        },
        Some(Err(error)) => (failed(&Problem::from(error)), true),
        None => (Event::default().event("end").data("null"), true),
    }
}

fn failed(problem: &Problem) -> Event {
    let event = Event::default().event("failed");
    event
        .json_data(problem)
        .expect("a problem can be put into JSON")
}
