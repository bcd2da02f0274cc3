//! What has happened, page by page or as a stream.
//!
//! A stream is made as slowly as it is read: nothing piles up for a reader that does not keep up, who is told in the end how many events
//! it has missed.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::stream::{Stream, unfold};
use ostrakon_manager::ClusterEvent;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::{asked::Asked, cursor::Cursor, office::Office, problem::Problem};

/// How many events a page has unless it is told.
const PAGE: usize = 100;
/// The most events of a page.
const LONGEST_PAGE: usize = 1000;
/// How many events a stream fetches at once.
const FETCH: usize = 64;
/// So often a stream says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Some events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventPage {
    /// In their order.
    pub events: Vec<ClusterEvent>,
    /// What to ask for next, with `since`.
    pub next: u64,
    /// The oldest event that is remembered; those before it are forgotten.
    pub oldest: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    #[serde(default)]
    since: u64,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    since: Option<u64>,
}

pub(crate) async fn page(
    State(office): State<Arc<Office>>,
    Asked(range): Asked<Range>,
) -> Result<Json<EventPage>, Problem> {
    let limit = range.limit.unwrap_or(PAGE);
    if !(1..=LONGEST_PAGE).contains(&limit) {
        return Err(Problem::bad_request(format!(
            "limit cannot be {limit}: choose 1 to {LONGEST_PAGE}"
        )));
    }
    let page = office.look(|view| {
        let events = view.events(range.since, limit);
        let next = events
            .last()
            .map_or_else(|| view.next_event(), |last| last.number + 1);
        let oldest = view.oldest_event();
        EventPage {
            events,
            next,
            oldest,
        }
    });
    Ok(Json(page))
}

/// Follows events: those behind `Last-Event-ID`, or from `since` on, or only those to come.
pub(crate) async fn stream(
    State(office): State<Arc<Office>>,
    Asked(from): Asked<From>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let place = Arc::clone(&office.streams).try_acquire_owned();
    let place = place.map_err(|_| Problem::busy("streams of events"))?;
    let news = office.front.desk().follow();
    let (cursor, next) = where_to_begin(&office, &from, &headers)?;
    let follower = Follower {
        office,
        news,
        cursor,
        next,
        fetched: VecDeque::new(),
        _place: place,
    };
    let events = unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    });
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Ok(Sse::new(events).keep_alive(heartbeat))
}

fn where_to_begin(
    office: &Office,
    from: &From,
    headers: &HeaderMap,
) -> Result<(Cursor, u64), Problem> {
    let start = Cursor::start(office.run);
    if let Some(last) = headers.get("last-event-id") {
        let cursor = last
            .to_str()
            .ok()
            .and_then(|text| text.parse::<Cursor>().ok());
        let cursor = cursor.ok_or_else(|| {
            let remedy = "send the id of an event of this stream as it is, or none";
            Problem::bad_request("Last-Event-ID is none of ours").with_remedy(remedy)
        })?;
        return Ok(office.look(|view| cursor.resume(office.run, view)));
    }
    let next = from
        .since
        .unwrap_or_else(|| office.front.desk().view().next_event());
    Ok((start, next))
}

/// Somebody who follows events.
struct Follower {
    office: Arc<Office>,
    news: watch::Receiver<u64>,
    cursor: Cursor,
    /// The number of the event to fetch next.
    next: u64,
    fetched: VecDeque<ClusterEvent>,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    /// The next event, as soon as there is one; `None` when the manager stops.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.fetched.pop_front() {
                return Some(self.tell(&event));
            }
            self.news.borrow_and_update();
            if let Some(missed) = self.fetch() {
                let data = format!(r#"{{"missed":{missed}}}"#);
                return Some(Event::default().event("missed").data(data));
            }
            if self.fetched.is_empty() {
                self.news.changed().await.ok()?;
            }
        }
    }

    /// Fetches what is new; returns how many events are forgotten already.
    fn fetch(&mut self) -> Option<u64> {
        let view = self.office.front.desk().view();
        self.fetched = view.events(self.next, FETCH).into();
        let first = self.fetched.front()?.number;
        let missed = first.checked_sub(self.next).filter(|missed| *missed > 0);
        self.next = self.fetched.back()?.number + 1;
        missed
    }

    fn tell(&mut self, event: &ClusterEvent) -> Event {
        self.cursor = self.cursor.behind(event);
        let told = Event::default().id(self.cursor.to_string());
        told.json_data(event)
            .expect("an event can be put into JSON")
    }
}
