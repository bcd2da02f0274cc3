//! `House`: a node with its gateway, and `curl` as its caller.

use std::{net::SocketAddr, process::Stdio, sync::Arc, time::Duration};

use ostrakon::{Hosting, Node};
use ostrakon_gateway::{Gateway, GatewayBuilder, GatewaySettings, Token};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};

use crate::{
    account::Account,
    trouble::{Hands, Trouble},
};

pub(crate) const TOKEN: &str = "0123456789abcdef-gateway";
/// How long anything may take that is expected to happen at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) struct House {
    pub(crate) node: Node,
    pub(crate) gateway: Gateway,
    pub(crate) hands: Arc<Hands>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(GatewaySettings::default()).await
    }

    pub(crate) async fn with(settings: GatewaySettings) -> Self {
        let hands = Arc::new(Hands::default());
        let builder = Node::builder("node-1")
            .host::<Account>()
            .host_with::<Trouble>(Hosting::default().mailbox(2), making(&hands));
        let node = builder.start().await.unwrap();
        let gateway = exposing(&node)
            .settings(settings)
            .serve("127.0.0.1:0")
            .await
            .unwrap();
        Self {
            node,
            gateway,
            hands,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// Calls a method of an entity.
    pub(crate) async fn call(&self, path: &str, body: &str) -> Reply {
        self.call_with(path, body, &[]).await
    }

    pub(crate) async fn call_with(&self, path: &str, body: &str, more: &[&str]) -> Reply {
        finished(self.calling(path, body, more)).await
    }

    /// The same, under way.
    pub(crate) fn calling(&self, path: &str, body: &str, more: &[&str]) -> Child {
        let url = self.url(&format!("/v1/entities/{path}"));
        let mut arguments = vec!["-X", "POST", "-d", body];
        arguments.extend(more);
        arguments.push(&url);
        curl(&arguments)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        finished(curl(&[&self.url(path)])).await
    }

    /// Sends bytes that `curl` would not send.
    pub(crate) async fn send(&self, bytes: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Whoever is refused before all is sent may see the connection break after the answer.
        let _ = timeout(SOON, stream.read_to_end(&mut answer))
            .await
            .unwrap();
        Reply::parse(&answer)
    }

    /// Waits until all places for requests are taken, or until there is one again.
    pub(crate) async fn until_listed(&self, status: u16) {
        let looking = async { while self.get("/v1/entities").await.status != status {} };
        timeout(SOON, looking).await.unwrap();
    }
}

pub(crate) fn making(
    hands: &Arc<Hands>,
) -> impl Fn(&ostrakon::EntityId) -> Trouble + Send + Sync + 'static {
    let hands = Arc::clone(hands);
    move |_| Trouble {
        hands: Arc::clone(&hands),
        notes: Vec::new(),
    }
}

pub(crate) fn token() -> Token {
    Token::new(TOKEN).unwrap()
}

pub(crate) fn exposing(node: &Node) -> GatewayBuilder {
    Gateway::builder(node.clone(), token())
        .expose::<Account>()
        .expose::<Trouble>()
}

/// `curl` with the token.
pub(crate) fn curl(arguments: &[&str]) -> Child {
    let header = format!("Authorization: Bearer {TOKEN}");
    bare_curl(&[&["-H", &header], arguments].concat())
}

/// `curl` as it is.
pub(crate) fn bare_curl(arguments: &[&str]) -> Child {
    Command::new("curl")
        .args(["-sS", "-i", "-N", "--path-as-is", "--max-time", "30"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("curl is installed")
}

pub(crate) async fn finished(curl: Child) -> Reply {
    let output = timeout(Duration::from_secs(40), curl.wait_with_output());
    let output = output.await.expect("curl ends").unwrap();
    assert!(!output.stdout.is_empty(), "{output:?}");
    Reply::parse(&output.stdout)
}

impl Reply {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut rest = text.as_str();
        while let Some((_, after)) = rest
            .starts_with("HTTP/1.1 100")
            .then(|| rest.split_once("\r\n\r\n").unwrap())
        {
            rest = after;
        }
        let (head, body) = rest
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The answer of a call that went well.
    pub(crate) fn value(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        assert!(self.head.contains("content-type: application/json"));
        self.json()
    }

    /// What is wrong, and what to do about it, of a problem that says this of the message and of sending it again.
    pub(crate) fn problem(&self, status: u16, outcome: &str, retry: &str) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let problem = self.json();
        assert_eq!(problem["outcome"], outcome, "{problem}");
        assert_eq!(problem["retry"], retry, "{problem}");
        let is_told_when = self.head.contains("retry-after: 1");
        assert_eq!(is_told_when, retry == "safe", "{}", self.head);
        let text = |key: &str| {
            problem[key]
                .as_str()
                .filter(|text| !text.is_empty())
                .unwrap()
        };
        format!("{} | {}", text("error"), text("remedy"))
    }

    /// The problem of a request that cannot be used.
    pub(crate) fn refused(&self, status: u16) -> String {
        self.problem(status, "not_executed", "no")
    }
}
