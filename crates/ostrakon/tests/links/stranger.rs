//! `Stranger`: a peer written by hand, which says whatever a test wants it to say.
//!
//! It knows the bytes of the protocol and nothing else of the crate: should they change, it notices.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

use crate::cluster::{SHARDS, SOON};

pub(crate) const NAME: &str = "stranger";
/// Magic, and the oldest and newest version of the protocol.
pub(crate) const OPENING: [u8; 12] = *b"OSTRAKON\x01\0\x01\0";

/// The numbers of the frames that tests send or look for.
pub(crate) mod kind {
    pub(crate) const MESSAGE: u8 = 1;
    pub(crate) const RETURNED: u8 = 2;
    pub(crate) const ANSWER: u8 = 3;
    pub(crate) const FAULT: u8 = 4;
    pub(crate) const DROPPED: u8 = 5;
    pub(crate) const ITEM: u8 = 6;
    pub(crate) const END: u8 = 7;
    pub(crate) const CREDIT: u8 = 8;
    pub(crate) const CANCEL: u8 = 9;
    pub(crate) const FENCE: u8 = 10;
    pub(crate) const FENCED: u8 = 11;
    pub(crate) const PART: u8 = 12;
    pub(crate) const PARTS_READ: u8 = 13;
    pub(crate) const PING: u8 = 14;
    pub(crate) const PONG: u8 = 15;
    pub(crate) const GOODBYE: u8 = 16;
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    pub(crate) to: String,
    pub(crate) purpose: String,
    pub(crate) session: u64,
    pub(crate) groups: Vec<Group>,
    pub(crate) message: u64,
    pub(crate) features: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) shards: u32,
    pub(crate) hash: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) version: u16,
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    pub(crate) session: u64,
    pub(crate) challenge: u64,
    pub(crate) message: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Judgement {
    Welcome(Welcome),
    Refused(String),
}

/// The dialer's last word if it does not want the connection after all.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Declined {
    pub(crate) refused: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) challenge: u64,
}

impl Hello {
    /// A fitting introduction to the node of this name.
    pub(crate) fn to(node: &str) -> Self {
        Self {
            cluster: "test".to_owned(),
            node: NAME.to_owned(),
            incarnation: 10,
            to: node.to_owned(),
            purpose: "Data".to_owned(),
            session: 0,
            groups: vec![Group {
                name: "default".to_owned(),
                shards: SHARDS,
                hash: "stable".to_owned(),
            }],
            message: 4 * 1024 * 1024,
            features: Vec::new(),
        }
    }

    /// All that a dialer says first.
    pub(crate) fn opening(&self) -> Vec<u8> {
        [&OPENING[..], &text(self)].concat()
    }
}

impl Judgement {
    #[track_caller]
    pub(crate) fn welcome(self) -> Welcome {
        match self {
            Self::Welcome(welcome) => welcome,
            Self::Refused(reason) => panic!("refused: {reason}"),
        }
    }

    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        match self {
            Self::Welcome(welcome) => panic!("{welcome:?}"),
            Self::Refused(reason) => reason,
        }
    }
}

/// A text of the handshake, as it travels.
pub(crate) fn text(text: &impl Serialize) -> Vec<u8> {
    let bytes = rmp_serde::to_vec_named(text).unwrap();
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_le_bytes()[..], &bytes].concat()
}

pub(crate) struct Stranger<S = TcpStream> {
    stream: S,
    /// What the other side's receptionist has asked.
    swaps: BTreeSet<u64>,
}

/// What a receptionist answers that knows nobody.
#[derive(Default, Serialize)]
struct Page {
    edition: Edition,
    lines: [(); 0],
}

#[derive(Default, Serialize)]
struct Edition {
    incarnation: u64,
    version: u64,
}

impl Stranger {
    pub(crate) async fn dial(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::on(stream)
    }

    /// Goes through the handshake.
    pub(crate) async fn enter(address: SocketAddr, hello: &Hello) -> Self {
        let mut stranger = Self::dial(address).await;
        let welcome = stranger.introduce(hello).await.welcome();
        stranger.ready(welcome.challenge).await;
        stranger
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stranger<S> {
    pub(crate) fn on(stream: S) -> Self {
        let swaps = BTreeSet::new();
        Self { stream, swaps }
    }

    /// Sends bytes. The other side may have closed: then what it said before tells why.
    pub(crate) async fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    /// Says no more, but listens.
    pub(crate) async fn fall_silent(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Says who it is, and hears what the other side thinks of that.
    pub(crate) async fn introduce(&mut self, hello: &Hello) -> Judgement {
        self.say(&hello.opening()).await;
        self.hear_text().await.expect("a judgement")
    }

    pub(crate) async fn ready(&mut self, challenge: u64) {
        self.say(&text(&Ready { challenge })).await;
    }

    /// Plays the acceptor: lets the dialer in as whoever it wants.
    pub(crate) async fn let_in(&mut self, incarnation: u64) -> Hello {
        let hello = self.hear_hello().await;
        let welcome = Welcome {
            version: 1,
            node: hello.to.clone(),
            incarnation,
            session: 1,
            challenge: 77,
            message: 4 * 1024 * 1024,
        };
        self.say(&text(&Judgement::Welcome(welcome))).await;
        hello
    }

    pub(crate) async fn hear_hello(&mut self) -> Hello {
        let mut opening = [0; 12];
        self.stream.read_exact(&mut opening).await.unwrap();
        assert_eq!(opening, OPENING);
        self.hear_text().await.expect("a hello")
    }

    /// The next text of the handshake; `None` if the connection ends.
    pub(crate) async fn hear_text<T: DeserializeOwned>(&mut self) -> Option<T> {
        let bytes = self.hear().await?;
        Some(rmp_serde::from_slice(&bytes).unwrap())
    }

    /// What follows the next length; `None` if the connection ends.
    async fn hear(&mut self) -> Option<Vec<u8>> {
        let heard = async {
            let length = self.stream.read_u32_le().await?;
            let mut bytes = vec![0; length as usize];
            self.stream.read_exact(&mut bytes).await?;
            Ok::<_, std::io::Error>(bytes)
        };
        let heard = tokio::time::timeout(SOON, heard).await;
        heard.expect("the other side says something").ok()
    }

    /// The next frame; `None` if the connection ends. Whatever the other side's receptionist wants is answered and not shown.
    pub(crate) async fn frame(&mut self) -> Option<Heard> {
        loop {
            let frame = self.hear().await.map(Heard)?;
            if frame.is_of_receptionist() {
                self.swaps.insert(frame.request());
                let nothing = rmp_serde::to_vec_named(&Page::default()).unwrap();
                let answer = self::frame(kind::ANSWER, frame.request(), &nothing);
                self.say(&answer).await;
            } else if frame.kind() != kind::CANCEL || !self.swaps.contains(&frame.request()) {
                return Some(frame);
            }
        }
    }

    /// The next frame of this kind; others are skipped.
    pub(crate) async fn frame_of(&mut self, kind: u8) -> Heard {
        loop {
            let frame = self.frame().await.expect("the connection lives");
            if frame.kind() == kind {
                return frame;
            }
        }
    }

    /// Sends a ping and waits until it comes back: all that was sent before has been dealt with, and the connection lives.
    pub(crate) async fn is_heard(&mut self) {
        self.say(&frame(kind::PING, 4242, &[])).await;
        let pong = self.frame_of(kind::PONG).await;
        assert_eq!(pong.request(), 4242);
    }

    /// Waits until the other side closes; returns its last words.
    pub(crate) async fn last_words(&mut self) -> String {
        let mut words = String::new();
        while let Some(frame) = self.frame().await {
            if frame.kind() == kind::GOODBYE {
                words = frame.goodbye();
            }
        }
        words
    }

    /// How many bytes come until the other side closes.
    pub(crate) async fn until_closed(&mut self) -> usize {
        let mut buffer = vec![0; 64 * 1024];
        let mut all = 0;
        loop {
            let read = tokio::time::timeout(SOON, self.stream.read(&mut buffer)).await;
            match read.expect("the other side closes") {
                Ok(0) | Err(_) => return all,
                Ok(bytes) => all += bytes,
            }
        }
    }
}

/// A frame without its length.
#[derive(Debug)]
pub(crate) struct Heard(pub(crate) Vec<u8>);

impl Heard {
    pub(crate) fn kind(&self) -> u8 {
        self.0[0]
    }

    fn is_of_receptionist(&self) -> bool {
        let kind = b"ostrakon.receptionist";
        self.kind() == kind::MESSAGE && self.0.windows(kind.len()).any(|bytes| bytes == kind)
    }

    fn request_and_rest(&self) -> (u64, &[u8]) {
        number(&self.0[1..])
    }

    pub(crate) fn request(&self) -> u64 {
        self.request_and_rest().0
    }

    /// What follows kind and request.
    pub(crate) fn fields(&self) -> &[u8] {
        self.request_and_rest().1
    }

    /// The number and the words of a fault.
    pub(crate) fn fault(&self) -> (u64, String) {
        assert_eq!(self.kind(), kind::FAULT);
        let (code, rest) = number(self.fields());
        (code, section(rest))
    }

    fn goodbye(&self) -> String {
        section(self.fields())
    }
}

fn section(bytes: &[u8]) -> String {
    let (length, rest) = number(bytes);
    String::from_utf8(rest[..length as usize].to_vec()).unwrap()
}

/// Reads a number, seven bits to a byte.
fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let mut value = 0;
    for (n, byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            return (value, &bytes[n + 1..]);
        }
    }
    panic!("a number without an end");
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_section(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A frame, as it travels.
pub(crate) fn frame(kind: u8, request: u64, fields: &[u8]) -> Vec<u8> {
    let mut body = vec![kind];
    put_number(&mut body, request);
    body.extend_from_slice(fields);
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_le_bytes()[..], &body].concat()
}

/// A message to a ledger.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) request: u64,
    /// 0 for an actor.
    pub(crate) shard: u64,
    pub(crate) epoch: u64,
    pub(crate) kind: Vec<u8>,
    pub(crate) id: Vec<u8>,
    pub(crate) remaining: Duration,
    /// The tag and the request of each reply.
    pub(crate) ports: Vec<(u8, u64)>,
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

/// What can be said to a ledger.
#[derive(Debug, Serialize)]
pub(crate) enum Said {
    Add { entry: u64, reply: Option<u32> },
    Refuse { why: String, reply: Option<u32> },
    Trace { reply: Option<u32> },
}

/// The tag of a reply in MessagePack.
pub(crate) const ANSWER_PORT: u8 = 1;
/// The tag of a stream reply in MessagePack.
pub(crate) const STREAM_PORT: u8 = 0x81;

impl Letter {
    /// An ask with this request number.
    pub(crate) fn ask(request: u64, shard: ostrakon::ShardId, id: &str, said: &Said) -> Self {
        Self {
            request,
            shard: u64::from(shard.get()),
            epoch: 1,
            kind: b"ledger".to_vec(),
            id: id.as_bytes().to_vec(),
            remaining: Duration::from_secs(10),
            ports: vec![(ANSWER_PORT, request)],
            options: Vec::new(),
            payload: rmp_serde::to_vec_named(said).unwrap(),
        }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        frame(kind::MESSAGE, self.request, &self.fields())
    }

    pub(crate) fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        put_number(&mut fields, self.shard);
        if self.shard > 0 {
            put_number(&mut fields, self.epoch);
        }
        put_section(&mut fields, &self.kind);
        put_section(&mut fields, &self.id);
        put_number(&mut fields, self.remaining.as_millis() as u64);
        let mut ports = Vec::new();
        for (tag, request) in &self.ports {
            ports.push(*tag);
            put_number(&mut ports, *request);
        }
        put_section(&mut fields, &ports);
        put_section(&mut fields, &self.options);
        fields.extend_from_slice(&self.payload);
        fields
    }
}
