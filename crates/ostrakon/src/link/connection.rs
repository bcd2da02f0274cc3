//! `Connection`: one task that reads, dispatches and writes on one data connection.
//!
//! One task does both directions, because what arrives is mostly answered on the spot: a batch is read, its messages are handled, and
//! their answers leave with one write. It always goes on reading, whatever waits to be written, so two nodes can never block each other.

mod dispatch;
mod end;
mod message;

use std::{
    collections::BTreeSet,
    io,
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use ostrakon_core::{GroupName, ShardId, Time};
use ostrakon_tls::Wire;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

pub(crate) use self::end::End;
use super::{
    Hub, Link, State,
    frame::{self, Frame},
    inbox::Inbox,
    outbox::LaneKey,
};
use crate::{Cause, lease::Wait};

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often the task reads and writes before it lets others run.
const ROUNDS: usize = 16;
/// So few frames are not worth two writes.
const FEW: usize = 8;

pub(crate) struct Connection {
    hub: Arc<Hub>,
    link: Arc<Link>,
    session: u64,
    wire: Box<dyn Wire>,
    inbox: Inbox,
    /// What is being written, and how much of it has been.
    writing: Vec<u8>,
    written: usize,
    needs_flush: bool,
    /// The other side does not take what is being written; since when is noted in the link.
    is_stuck: bool,
    /// The large frame that is being handled.
    whole: Option<Bytes>,
    /// When the bytes were read that are being dispatched, if somebody wanted to know: answers do not.
    now: Option<Time>,
    /// Lanes of which something was sent back, until the other side has noticed.
    refusing: BTreeSet<(GroupName, ShardId)>,
    /// How many askers were answered, until the outbox knows.
    answered: usize,
    /// Askers that have their answers and have not been woken: together, so that a thread that sleeps is woken once for all of them.
    wakers: Vec<Waker>,
    lingered: bool,
    /// Waits for the lease, if what entities have sent is held back.
    suspended: Wait,
}

impl Connection {
    pub(crate) fn new(hub: &Arc<Hub>, link: &Arc<Link>, session: u64, wire: Box<dyn Wire>) -> Self {
        Self {
            hub: Arc::clone(hub),
            link: Arc::clone(link),
            session,
            wire,
            inbox: Inbox::new(link.limits.message),
            writing: Vec::new(),
            written: 0,
            needs_flush: false,
            is_stuck: false,
            whole: None,
            now: None,
            refusing: BTreeSet::new(),
            answered: 0,
            wakers: Vec::new(),
            lingered: false,
            suspended: Wait::default(),
        }
    }

    /// Reads and writes until the connection ends.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.link.writer.register(cx.waker());
        // Nearly all code of the user's is caught where it is called. What is left, such as the end of a message that was refused, must
        // not end the link for good.
        let polled = Cause::catch(|| self.poll_rounds(cx));
        // Those who were answered before the connection ended must know it.
        self.wake_askers();
        match polled {
            Ok(Ok(())) => Poll::Pending,
            Ok(Err(end)) => Poll::Ready(end),
            Err(cause) => Poll::Ready(End::Panicked(cause)),
        }
    }

    /// Reads and writes as long as there is something, but not so long that others never run.
    fn poll_rounds(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        // Where there was nothing, somebody will wake this task when there is: no need to look twice.
        let (mut reads, mut writes) = (true, true);
        for _ in 0..ROUNDS {
            reads = reads && self.poll_read(cx)?;
            writes = (reads || writes) && self.poll_write(cx)?;
            if !reads && !writes {
                return Ok(());
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn wake_askers(&mut self) {
        for waker in self.wakers.drain(..) {
            // One that panics must not keep it from the others.
            let _ = Cause::catch(|| waker.wake());
        }
    }

    /// When what is being dispatched was read.
    fn now(&mut self) -> Time {
        *self.now.get_or_insert_with(|| self.hub.clock.now())
    }

    /// Writes what is ready. `false`: there is nothing, or no room.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if !self.writing.is_empty() {
            // A peer that does not read must not keep the connection from ending.
            self.check_cut(&mut self.link.state.lock())?;
        } else if !self.take(cx)? && !self.needs_flush {
            return Ok(false);
        }
        let mut progress = false;
        while self.written < self.writing.len() {
            let rest = &self.writing[self.written..];
            match Pin::new(&mut self.wire).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => return Err(End::Closed),
                Poll::Ready(Ok(bytes)) => {
                    self.written += bytes;
                    self.needs_flush = true;
                    progress = true;
                }
                Poll::Ready(Err(error)) => {
                    self.all_may_be_sent();
                    return Err(End::Io(error));
                }
                Poll::Pending => break,
            }
        }
        self.note_progress(progress);
        if self.needs_flush {
            match Pin::new(&mut self.wire).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.needs_flush = false,
                Poll::Ready(Err(error)) => return Err(End::Io(error)),
                Poll::Pending => {}
            }
        }
        if self.written == self.writing.len() {
            self.writing.clear();
            self.written = 0;
        }
        Ok(progress)
    }

    /// Notes since when the other side takes nothing of what is being written.
    fn note_progress(&mut self, progress: bool) {
        let is_stuck = self.written < self.writing.len();
        if progress || is_stuck != self.is_stuck {
            if is_stuck {
                self.link.stuck_since(Some(self.hub.clock.now()));
            } else if self.is_stuck {
                self.link.stuck_since(None);
            }
            self.is_stuck = is_stuck;
        }
    }

    /// A write has failed. TLS does not say how much it had sent by then, so nothing of it is sent again.
    fn all_may_be_sent(&mut self) {
        self.written = self.writing.len();
    }

    /// Ends if it was ordered to.
    fn check_cut(&self, state: &mut State) -> Result<(), End> {
        let session = state.session(self.session);
        let end = session.and_then(|session| session.cut.take());
        end.map_or(Ok(()), Err)
    }

    /// Takes what is to be written next.
    fn take(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut state = self.link.state.lock();
        self.check_cut(&mut state)?;
        state.outbox.answered += std::mem::take(&mut self.answered);
        if state.outbox.is_empty() {
            state.outbox.parked = true;
            return Ok(false);
        }
        // Askers that were just answered tend to ask again at once: wait for them, but never longer than it takes to let
        // the tasks run that are ready.
        let outbox = &state.outbox;
        if outbox.frames > 0 && outbox.frames < outbox.answered && !self.lingered {
            self.lingered = true;
            state.outbox.parked = false;
            drop(state);
            cx.waker().wake_by_ref();
            return Ok(false);
        }
        match self.hub.lease.poll_lasts(&mut self.suspended, cx.waker()) {
            Poll::Ready(()) => state.outbox.let_go(),
            Poll::Pending => state.outbox.hold_back(),
        }
        let before = state.outbox.frames;
        let now = || self.hub.clock.now();
        self.written = state.outbox.take(&mut self.writing, now);
        if self.writing.is_empty() {
            return Ok(false);
        }
        let frames = before - state.outbox.frames;
        state.outbox.answered = 0;
        drop(state);
        self.lingered = false;
        self.hub.counts.wrote(frames);
        Ok(true)
    }

    /// Reads once and deals with what was there. `false`: nothing was.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut space: ReadBuf<'_> = self.inbox.space();
        let read = Pin::new(&mut self.wire).poll_read(cx, &mut space);
        let bytes = space.filled().len();
        match read {
            Poll::Pending => return Ok(false),
            Poll::Ready(Err(error)) => return Err(End::Io(error)),
            Poll::Ready(Ok(())) if bytes == 0 => return Err(End::Closed),
            Poll::Ready(Ok(())) => {}
        }
        self.inbox.filled(bytes);
        self.link.note_read();
        self.now = None;
        {
            let mut state = self.link.state.lock();
            // This task looks for something to write when it has dispatched: whoever answers meanwhile need not wake it.
            state.outbox.parked = false;
            state.is_heard(self.session);
        }
        self.dispatch(cx)?;
        self.wake_askers();
        Ok(true)
    }

    /// Deals with every whole frame that has been read.
    fn dispatch(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        // Taken out, so that a frame can be borrowed from it meanwhile.
        let mut inbox = std::mem::replace(&mut self.inbox, Inbox::new(0));
        let result = self.dispatch_from(&mut inbox, cx);
        self.inbox = inbox;
        result
    }

    fn dispatch_from(&mut self, inbox: &mut Inbox, cx: &mut Context<'_>) -> Result<(), End> {
        let (mut half, mut handled) = (inbox.unread() / 2, 0);
        while let Some(range) = inbox.next().map_err(End::Bad)? {
            handled += 1;
            // A large batch is answered in two halves: while the other side deals with the first, this one does the second.
            if handled >= FEW && inbox.unread() < half {
                (half, handled) = (0, 0);
                self.wake_askers();
                self.poll_write(cx)?;
            }
            let frame = Frame::read(inbox.bytes(range.clone())).map_err(End::Bad)?;
            if let Frame::Part { last, bytes } = frame {
                let part = range.end - bytes.len()..range.end;
                self.part(inbox, part, last, cx)?;
            } else {
                self.handle(frame, cx)?;
            }
        }
        Ok(())
    }

    /// Deals with a part of a large frame.
    #[inline(never)]
    fn part(
        &mut self,
        inbox: &mut Inbox,
        part: Range<usize>,
        last: bool,
        cx: &mut Context<'_>,
    ) -> Result<(), End> {
        let length = part.len() as u64;
        self.sign(LaneKey::None, |out| frame::put_parts_read(out, length));
        if let Some(whole) = inbox.part(part, last).map_err(End::Bad)? {
            let whole = Bytes::from(whole);
            self.whole = Some(whole.clone());
            let frame = Frame::read(frame::body(&whole)).map_err(End::Bad)?;
            self.handle(frame, cx)?;
            self.whole = None;
        }
        Ok(())
    }

    /// The last words on a connection, and what must be told to those who waited for it.
    pub(crate) async fn finish(mut self, end: &End) {
        if self.writing.is_empty() {
            let outbox = &mut self.link.state.lock().outbox;
            self.written = outbox.take_begun(&mut self.writing);
        }
        let says_why = match end {
            End::Leaving | End::Bad(_) | End::Misbehaved(_) | End::Panicked(_) => true,
            End::Silent | End::Deaf | End::Replaced => true,
            End::Closed | End::Goodbye(_) | End::Io(_) | End::NotReading | End::NoControl => false,
            // Perhaps it does not even read. Whoever waits for its answers has waited long enough.
            End::RunOver => false,
        };
        if says_why {
            let reason = end.to_string();
            let said = async {
                if !matches!(end, End::Leaving) {
                    return self.say_goodbye(&reason).await;
                }
                self.write_rest().await?;
                self.say_goodbye(&reason).await?;
                // To close while something waits to be read would take back what the other side has not received yet.
                let mut nowhere = tokio::io::sink();
                tokio::io::copy(&mut self.wire, &mut nowhere)
                    .await
                    .map(drop)
            };
            // Whoever does not listen any more will learn it otherwise.
            let _ = tokio::time::timeout(LAST_WORDS, said).await;
        }
        self.link
            .session_over(self.session, &self.writing, self.written);
    }

    /// Writes all that waits.
    async fn write_rest(&mut self) -> io::Result<()> {
        loop {
            if self.writing.is_empty() {
                let outbox = &mut self.link.state.lock().outbox;
                if self.hub.lease.is_over() {
                    outbox.hold_back();
                }
                let now = || self.hub.clock.now();
                self.written = outbox.take_all(&mut self.writing, now);
            }
            if self.writing.is_empty() {
                return Ok(());
            }
            while self.written < self.writing.len() {
                match self.wire.write(&self.writing[self.written..]).await {
                    Ok(bytes) => self.written += bytes,
                    Err(error) => {
                        self.all_may_be_sent();
                        return Err(error);
                    }
                }
            }
            self.writing.clear();
            self.written = 0;
        }
    }

    async fn say_goodbye(&mut self, reason: &str) -> io::Result<()> {
        // In the middle of a frame it would be taken for a piece of it.
        if self.written == 0 {
            let mut goodbye = Vec::new();
            frame::put_goodbye(&mut goodbye, reason);
            self.wire.write_all(&goodbye).await?;
        }
        self.wire.shutdown().await
    }
}

#[cfg(test)]
pub(super) mod tests;
