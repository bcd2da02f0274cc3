//! What a connection does with a message: it brings it to its host, and sees to what the message has brought along.

use std::{
    sync::{Arc, atomic::Ordering},
    task::Context,
    time::Duration,
};

use ostrakon_core::{EntityId, GroupName, ShardId};

use super::{Connection, End};
use crate::{
    AskError, CallChain, Codec, TellError, TraceContext,
    host::envelope::Ask,
    link::{
        Arrival, Class, Link, Load, TurnedAway,
        arrival::{Claim, LARGE},
        fault::Fault,
        frame::{self, Addressee, EndOfStream, Message, RequestId, option},
        guest::{Guest, GuestStream},
        outbox::LaneKey,
    },
    reply::{Pending, Settle},
    stream::ItemsSink,
    wire::{AnswerPort, ItemsPort, Port, Ports},
};

/// What a small message takes besides its payload, at least.
const BESIDES: usize = 64;

impl Connection {
    /// Brings a message to its host.
    pub(super) fn message(
        &mut self,
        message: &Message<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), End> {
        if !self.refusing.is_empty()
            && let Some(lane) = self.lane_of(message)
            && self.refusing.contains(&lane)
        {
            self.give_back(message, &lane);
            return Ok(());
        }
        let now = self.now();
        let actor;
        let host = match message.to {
            Addressee::Entity { .. } => self.hub.host(message.kind),
            Addressee::Actor => {
                actor = self.hub.actor_host(message.kind, message.id);
                actor.as_ref().map_err(TellError::clone)
            }
        };
        let id = EntityId::new(message.id);
        let (host, id) = match (host, id) {
            (Ok(host), Ok(id)) => (host, id),
            (Err(error), _) => return self.refuse(message, &error),
            (_, Err(error)) => return self.refuse(message, &error.into()),
        };
        if self.link.load.load(Ordering::Relaxed) > self.link.limits.waiting_answers() {
            let node = self.hub.me.name.clone();
            return self.refuse(message, &TellError::Congested { node });
        }
        let mut guests = Guests::default();
        let ports = match self.ports(message, &mut guests) {
            Ok(ports) => ports,
            Err(error) => {
                guests.forget();
                return self.refuse(message, &error);
            }
        };
        let ask = guests.asking.as_ref().map(|guest| Ask {
            pending: Pending::new(Arc::clone(guest) as Arc<dyn Settle>),
            deadline: now + Duration::from_millis(message.remaining),
            chain: message.option(option::CHAIN).and_then(CallChain::read),
        });
        let arrival = Arrival {
            id,
            claim: Claim::of(message.to),
            payload: message.payload,
            whole: self.whole.as_ref(),
            ports,
            ask,
            trace: message
                .option(option::TRACE)
                .and_then(TraceContext::from_bytes)
                .map(Arc::new),
            load: &self.link.load,
            now: Some(now),
        };
        match host.arrive(arrival, Some(cx)) {
            Ok(()) => guests.note(&self.link, self.session, message.payload.len()),
            Err(away) => self.turn_away(message, &guests, away)?,
        }
        Ok(())
    }

    /// A host does not take a message: it goes back where that helps, else its sender is told.
    #[cold]
    fn turn_away(
        &mut self,
        message: &Message<'_>,
        guests: &Guests,
        away: TurnedAway,
    ) -> Result<(), End> {
        let lane = self.lane_of(message);
        let (ask, letter) = match away {
            TurnedAway::NotOwner { ask, letter } => (ask, Some(letter)),
            // Nobody waits for a tell, so nobody would know: it waits at its sender, who then knows to slow down.
            TurnedAway::Refused {
                error: TellError::Overloaded { .. },
                ask: None,
                letter,
            } if lane.is_some() => (None, letter),
            TurnedAway::Refused { error, ask, .. } => {
                return match ask {
                    Some(ask) => {
                        ask.pending.fail(AskError::NotSent(error));
                        Ok(())
                    }
                    None => self.refuse(message, &error),
                };
            }
        };
        guests.forget();
        if let Some(ask) = ask {
            ask.pending.forget();
        }
        drop(letter);
        if let Some(lane) = lane {
            self.give_back(message, &lane);
            self.refusing.insert(lane);
        }
        Ok(())
    }

    /// The lane that a message has come on, if its kind is known.
    fn lane_of(&self, message: &Message<'_>) -> Option<(GroupName, ShardId)> {
        match message.to {
            Addressee::Entity { shard, .. } => {
                Some((self.hub.group_of(message.kind)?.clone(), shard))
            }
            Addressee::Actor => None,
        }
    }

    /// The local ends of the replies inside a message.
    fn ports(&self, message: &Message<'_>, guests: &mut Guests) -> Result<Ports, TellError> {
        let (link, session) = (&self.link, self.session);
        if message.request != 0 {
            let opens = message.option(option::OPENS_STREAM).is_some();
            guests.asking = Some(Guest::asking(link, session, message.request, opens));
        }
        let mut ports = Ports::new();
        for tag in message.ports() {
            let codec = Codec::from_id(tag.codec).ok_or_else(|| TellError::Unsupported {
                node: self.hub.me.name.clone(),
                reason: format!("codec {} is unknown here", tag.codec),
            })?;
            if tag.is_stream {
                ports.push(self.stream(tag.request, codec, guests)?);
                continue;
            }
            let own = guests
                .asking
                .as_ref()
                .filter(|_| tag.request == message.request);
            ports.push(Port::Answer(match own {
                Some(guest) => AnswerPort::of_ask(codec, Arc::clone(guest) as _),
                None => {
                    let guest = Guest::replying(link, session, tag.request);
                    guests.replying.push(Arc::clone(&guest));
                    AnswerPort::new(codec, guest)
                }
            }));
        }
        Ok(ports)
    }

    /// The local end of a stream that the other side consumes.
    #[inline(never)]
    fn stream(
        &self,
        request: RequestId,
        codec: Codec,
        guests: &mut Guests,
    ) -> Result<Port, TellError> {
        let sink = GuestStream::new(&self.link, self.session, request);
        guests.streams.push(Arc::clone(&sink));
        if !self.link.note_stream(self.session, request, &sink) {
            let node = self.hub.me.name.clone();
            return Err(TellError::Congested { node });
        }
        Ok(Port::Items(ItemsPort { codec, sink }))
    }

    /// Sends a message back whose shard is not ours.
    #[cold]
    fn give_back(&self, message: &Message<'_>, (group, shard): &(GroupName, ShardId)) {
        let map = self.hub.map.load();
        let owner = map.owner(group, *shard);
        let (name, epoch) = match owner {
            Some(assignment) => (assignment.owner.as_str(), assignment.epoch),
            None => ("", ostrakon_core::Epoch::default()),
        };
        let class = Class::Returned {
            size: message.body.len(),
        };
        let lane = LaneKey::of(group, *shard);
        self.link.reply(self.session, class, lane, |out| {
            frame::put_returned(out, name, epoch, message.body);
        });
    }

    #[cold]
    fn refuse(&self, message: &Message<'_>, error: &TellError) -> Result<(), End> {
        let fault = Fault::refusal(error);
        self.sign(LaneKey::None, |out| match message.request {
            0 => frame::put_dropped(out, message.kind, message.id, &fault),
            request => frame::put_fault(out, request, &fault),
        });
        // Whoever has passed a reply on must learn that nobody has it.
        for tag in message.ports().filter(|tag| tag.request != message.request) {
            self.sign(LaneKey::None, |out| {
                if tag.is_stream {
                    frame::put_end(out, tag.request, EndOfStream::Interrupted);
                } else {
                    frame::put_fault(out, tag.request, &Fault::of(&AskError::NoReply));
                }
            });
        }
        Ok(())
    }
}

/// What a message from another node has brought along.
#[derive(Default)]
struct Guests {
    asking: Option<Arc<Guest>>,
    replying: Vec<Arc<Guest>>,
    streams: Vec<Arc<GuestStream>>,
}

impl Guests {
    /// Nothing is to be said about them.
    fn forget(&self) {
        self.asking
            .iter()
            .chain(&self.replying)
            .for_each(|guest| guest.forget());
        self.streams.iter().for_each(|stream| stream.forget());
    }

    /// Those that are not answered yet can be cancelled from now on, and an ask counts as waiting here.
    fn note(&self, link: &Link, session: u64, size: usize) {
        for guest in self.asking.iter().chain(&self.replying) {
            if guest.is_open() {
                link.note_guest(session, guest);
            }
        }
        // What is large counts already.
        if let Some(asking) = self.asking.as_ref().filter(|asking| asking.is_open())
            && size < LARGE
        {
            asking.carry(Load::new(&link.load, size + BESIDES));
        }
    }
}

impl Link {
    #[inline(never)]
    fn note_guest(&self, session: u64, guest: &Arc<Guest>) {
        guest.set_noted();
        let request = guest.request();
        if let Some(session) = self.state.lock().session(session) {
            session.guests.insert(request, Arc::downgrade(guest));
        }
        // It may have been answered just before it was noted.
        if !guest.is_open() {
            self.guest_left(session, request);
        }
    }

    /// `false`: there are too many.
    fn note_stream(&self, session: u64, request: RequestId, stream: &GuestStream) -> bool {
        let most = self.limits.streams;
        let mut state = self.state.lock();
        let Some(session) = state.session(session) else {
            return true;
        };
        if session.streams.len() >= most {
            return false;
        }
        let credit = stream.credit();
        session.streams.insert(request, Arc::clone(credit));
        true
    }
}
