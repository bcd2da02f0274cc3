//! A write that fails after a part of it has gone out: what may have been sent is never sent again. What wakes a connection, and what
//! goes out without it.

mod long_way;

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use ostrakon_core::{EntityId, Epoch, Incarnation, NodeName, ShardGroup, ShardId};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf},
    net::{TcpListener, TcpSocket, TcpStream},
};

use super::{Connection, End};
use crate::{
    AskError, Codec, Payload, Security,
    actors::Actors,
    clock::Clock,
    link::{
        Hub, HubParts, Limits, Link, Me, NOT_STUCK, Outgoing, Phase, Session,
        frame::{self, Addressee, Frame, RequestId},
        outbox::LaneKey,
        pen::Pen,
    },
    reply::{Settle, Slot},
    topology::Topology,
    wire::{AnswerPort, AnswerSink, Port, Ports},
};

/// A connection that has sent everything and then says that it could not, as TLS may.
struct Liar;

impl AsyncRead for Liar {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Liar {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

pub(in crate::link) const SESSION: u64 = 7;

/// A hub without anything, and a link of it that believes to be connected.
pub(in crate::link) async fn connected() -> (Arc<Hub>, Arc<Link>) {
    let name = NodeName::new("a").unwrap();
    let address = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let limits = Limits::default();
    let parts = HubParts {
        me: Me {
            cluster: "test".to_owned(),
            name: name.clone(),
            incarnation: Incarnation::new(1),
            groups: vec![ShardGroup::default()],
            message: limits.message,
        },
        limits,
        security: Security::plaintext(),
        clock: Clock::start(),
        topology: Arc::new(Topology::alone(name)),
        actors: Arc::<Actors>::default(),
    };
    let hub = Hub::new(parts, address);
    let (link, _) = Link::new(&hub, NodeName::new("b").unwrap());
    link.heard_now();
    link.state.lock().phase = Phase::Up(Session::new(SESSION, Incarnation::new(1), Weak::new()));
    (hub, link)
}

fn ask(link: &Arc<Link>) -> Arc<Slot<u64>> {
    ask_with(link, b"anything")
}

fn ask_with(link: &Arc<Link>, payload: &[u8]) -> Arc<Slot<u64>> {
    let slot = Slot::<u64>::new();
    send_ask(link, &slot, payload, &mut Ports::new());
    slot
}

/// Sends an ask and returns its number.
fn send_ask<T: Payload>(
    link: &Arc<Link>,
    slot: &Arc<Slot<T>>,
    payload: &[u8],
    ports: &mut Ports,
) -> RequestId {
    let asker: Arc<dyn Settle> = Arc::clone(slot) as Arc<dyn Settle>;
    let message = Outgoing {
        kind: "account",
        id: &EntityId::new("alice").unwrap(),
        to: Addressee::Entity {
            shard: ShardId::new(1).unwrap(),
            epoch: Epoch::new(1),
        },
        lane: LaneKey::Actors,
        asker: Some(&asker),
        deadline: None,
        remaining: 1000,
        options: &[],
        payload,
    };
    link.send(&message, ports).unwrap()
}

/// Panics when it is dropped, if it is live.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "boom");
    }
}

fn ask_for_bomb(link: &Arc<Link>) -> (Arc<Slot<Bomb>>, RequestId) {
    let slot = Slot::<Bomb>::new();
    let sink = Arc::clone(&slot) as Arc<dyn AnswerSink>;
    let port = Port::Answer(AnswerPort::new(Codec::Json, sink));
    let request = send_ask(link, &slot, b"", &mut Ports::from_iter([port]));
    (slot, request)
}

/// A connection with four asks under way, and the other end of it.
struct Bombs {
    connection: Connection,
    far: DuplexStream,
    asked: Vec<(Arc<Slot<Bomb>>, RequestId)>,
}

impl Bombs {
    /// `wakers` are those of the askers.
    async fn asked(wakers: [Waker; 4]) -> Self {
        let (hub, link) = connected().await;
        let (near, far) = tokio::io::duplex(4096);
        let mut connection = Connection::new(&hub, &link, SESSION, Box::new(near));
        let asked: Vec<_> = (0..4).map(|_| ask_for_bomb(&link)).collect();
        for ((slot, _), waker) in asked.iter().zip(&wakers) {
            assert!(slot.poll(&mut Context::from_waker(waker)).is_pending());
        }
        let mut cx = Context::from_waker(Waker::noop());
        assert!(connection.poll(&mut cx).is_pending(), "they are sent");
        Self {
            connection,
            far,
            asked,
        }
    }

    /// The first of them are answered at once with these bombs, and the connection ends.
    async fn answered(mut self, bombs: &[bool]) -> (End, Vec<Option<Outcome>>) {
        let mut answers = Vec::new();
        for ((_, request), bomb) in self.asked.iter().zip(bombs) {
            frame::put_answer(&mut answers, *request, bomb.to_string().as_bytes());
        }
        self.far.write_all(&answers).await.unwrap();
        drop(self.far);
        let end = std::future::poll_fn(|cx| self.connection.poll(cx)).await;
        self.connection.finish(&end).await;
        let outcomes = self.asked.iter().map(|(slot, _)| slot.take()).collect();
        (end, outcomes)
    }
}

type Outcome = Result<Bomb, AskError>;

#[tokio::test]
async fn nobody_waits_for_ever_when_an_answer_in_their_batch_panics() {
    let wakes: [Arc<Wakes>; 4] = Default::default();
    let bombs = Bombs::asked(wakes.clone().map(Waker::from)).await;
    // Nobody wants this one any more, so it is dropped where it arrives.
    bombs.asked[1].0.abandon();
    let (end, outcomes) = bombs.answered(&[false, true, false, false]).await;
    assert_eq!(end.to_string(), "this side panicked: boom");
    assert_eq!(outcomes, [Some(Ok(Bomb(false))), None, lost(), lost()]);
    assert_eq!(wakes.map(|wakes| wakes.take()), [1, 0, 1, 1]);
}

/// A waker of an executor that is broken.
struct Broken;

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        panic!("broken");
    }
}

#[tokio::test]
async fn nobody_waits_for_ever_when_the_waker_before_theirs_panics() {
    let wakes = Arc::<Wakes>::default();
    let broken = || Waker::from(Arc::new(Broken));
    let good = || Waker::from(Arc::clone(&wakes));
    let bombs = Bombs::asked([broken(), good(), broken(), good()]).await;
    let (end, outcomes) = bombs.answered(&[false, false]).await;
    assert!(matches!(end, End::Closed), "{end}");
    let answered = || Some(Ok(Bomb(false)));
    assert_eq!(outcomes, [answered(), answered(), lost(), lost()]);
    assert_eq!(wakes.take(), 2);
}

fn lost<T>() -> Option<Result<T, AskError>> {
    let node = NodeName::new("b").unwrap();
    Some(Err(AskError::Lost { node }))
}

#[tokio::test]
async fn what_a_failed_write_may_have_sent_is_unknown_and_not_sent_again() {
    let (hub, link) = connected().await;
    let asked = ask(&link);
    let mut connection = Connection::new(&hub, &link, SESSION, Box::new(Liar));
    let end = std::future::poll_fn(|cx| connection.poll(cx)).await;
    assert!(matches!(end, End::Io(_)), "{end}");
    connection.finish(&end).await;
    assert_eq!(asked.take(), lost());
    assert!(!link.has_work(), "it waits to be sent again");
}

#[tokio::test]
async fn a_failed_write_of_the_last_words_is_unknown_as_well() {
    let (hub, link) = connected().await;
    let asked = ask(&link);
    let connection = Connection::new(&hub, &link, SESSION, Box::new(Liar));
    connection.finish(&End::Leaving).await;
    assert_eq!(asked.take(), lost());
    assert!(!link.has_work(), "it waits to be sent again");
}

/// Counts how often the task would be polled again.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    /// How often since somebody last wanted to know.
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// On several threads a task that wakes itself wakes another thread, too.
#[tokio::test]
async fn a_connection_is_woken_by_others_and_not_by_its_own_answers() {
    let (hub, link) = connected().await;
    let (near, mut far) = tokio::io::duplex(1024);
    let mut connection = Connection::new(&hub, &link, SESSION, Box::new(near));
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    let woken = || wakes.take();
    assert!(connection.poll(&mut cx).is_pending());
    woken();

    let (mut question, mut answer) = (Vec::new(), Vec::new());
    let group = ShardGroup::default();
    let shard = ShardId::new(1).unwrap();
    frame::put_fence(&mut question, 1, group.name.as_str(), shard);
    frame::put_fenced(&mut answer, 1);
    far.write_all(&question).await.unwrap();
    assert_eq!(woken(), 1, "something has arrived");
    assert!(connection.poll(&mut cx).is_pending());
    let mut heard = vec![0; answer.len()];
    far.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, answer);
    assert_eq!(woken(), 0, "it has woken itself");

    let asked = ask(&link);
    assert_eq!(woken(), 1, "there is something to write");
    assert!(connection.poll(&mut cx).is_pending());
    let message = far.read_buf(&mut Vec::with_capacity(1024)).await.unwrap();
    assert!(message > 0);
    assert_eq!((woken(), asked.take()), (0, None));
}

#[tokio::test]
async fn a_connection_says_since_when_the_other_side_takes_nothing() {
    let (hub, link) = connected().await;
    let (near, mut far) = tokio::io::duplex(16);
    let mut connection = Connection::new(&hub, &link, SESSION, Box::new(near));
    let mut cx = Context::from_waker(Waker::noop());
    let is_stuck = || link.stuck.load(Ordering::Relaxed) != NOT_STUCK;
    assert!(connection.poll(&mut cx).is_pending());
    assert!(!is_stuck(), "nobody has sent anything");

    let _asked = ask(&link);
    assert!(connection.poll(&mut cx).is_pending());
    assert!(is_stuck(), "the rest of the message waits");

    while is_stuck() {
        far.read_u8().await.unwrap();
        assert!(connection.poll(&mut cx).is_pending());
    }
    assert!(connection.writing.is_empty());
}

/// A connection over a socket that takes little at once, the other end of it, and the pen of its senders.
async fn with_pen(hub: &Arc<Hub>, link: &Arc<Link>) -> (Connection, TcpStream, Arc<Pen>) {
    let small = || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(4096).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket
    };
    let listening = small();
    listening.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listening.listen(1).unwrap();
    let near = small().connect(listener.local_addr().unwrap());
    let (near, far) = tokio::join!(near, listener.accept());
    let near = near.unwrap();
    let pen = Arc::new(Pen::of(hub, &near).unwrap());
    let mut state = link.state.lock();
    state.session(SESSION).unwrap().pen = Arc::downgrade(&pen);
    drop(state);
    let connection = Connection::new(hub, link, SESSION, Box::new(near));
    (connection, far.unwrap().0, pen)
}

/// Reads one message and says what it has brought.
async fn payload(far: &mut TcpStream, size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while frame::length(&bytes).is_none_or(|length| bytes.len() < length) {
        assert!(far.read_buf(&mut bytes).await.unwrap() > 0, "it has ended");
    }
    let Ok(Frame::Message(message)) = Frame::read(frame::body(&bytes)) else {
        panic!("not a message");
    };
    assert_eq!(message.payload.len(), size);
    message.payload.to_vec()
}

/// A connection at rest.
async fn at_rest(wakes: &Arc<Wakes>) -> (Arc<Link>, Connection, TcpStream, Arc<Pen>) {
    let (hub, link) = connected().await;
    let (mut connection, far, pen) = with_pen(&hub, &link).await;
    poll_once(&mut connection, wakes);
    (link, connection, far, pen)
}

fn poll_once(connection: &mut Connection, wakes: &Arc<Wakes>) {
    let waker = Waker::from(Arc::clone(wakes));
    let polled = connection.poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
}

#[tokio::test]
async fn the_only_ask_under_way_goes_out_without_the_connection() {
    let wakes = Arc::<Wakes>::default();
    let (link, mut connection, mut far, _pen) = at_rest(&wakes).await;
    let alone = ask_with(&link, b"alone");
    assert_eq!(payload(&mut far, 5).await, b"alone");
    assert_eq!(wakes.take(), 0);
    let not_alone = ask_with(&link, b"not alone");
    assert_eq!(wakes.take(), 1);
    poll_once(&mut connection, &wakes);
    assert_eq!(payload(&mut far, 9).await, b"not alone");
    connection.finish(&End::Closed).await;
    assert_eq!((alone.take(), not_alone.take()), (lost(), lost()));
    assert!(!link.has_work(), "it waits to be sent again");
}

/// More than a socket takes at once.
static LONG: [u8; 48 * 1024] = [7; 48 * 1024];

#[tokio::test]
async fn what_a_sender_has_begun_the_connection_ends() {
    let wakes = Arc::<Wakes>::default();
    let (link, mut connection, mut far, _pen) = at_rest(&wakes).await;
    let _asked = ask_with(&link, &LONG);
    assert_eq!(wakes.take(), 1, "somebody has to write the rest");
    let end = std::future::poll_fn(|cx| connection.poll(cx));
    tokio::select! {
        end = end => panic!("{end}"),
        read = payload(&mut far, LONG.len()) => assert!(read == LONG),
    }
}

#[tokio::test]
async fn what_a_sender_has_begun_waits_for_the_next_connection_if_this_one_ends() {
    let wakes = Arc::<Wakes>::default();
    let (link, connection, mut far, pen) = at_rest(&wakes).await;
    let asked = ask_with(&link, &LONG);
    connection.finish(&End::Closed).await;
    drop(pen);
    let mut sent = Vec::new();
    far.read_to_end(&mut sent).await.unwrap();
    assert!((1..LONG.len()).contains(&sent.len()), "it was not begun");
    assert_eq!(asked.take(), None, "nobody can have handled it");
    assert!(link.has_work());
}

#[tokio::test]
async fn nobody_writes_to_a_connection_that_ends() {
    let wakes = Arc::<Wakes>::default();
    let (link, _connection, _far, _pen) = at_rest(&wakes).await;
    link.cut(SESSION, End::RunOver);
    let _asked = ask(&link);
    assert!(link.state.lock().outbox.waiting() > 0);
}
