//! `House`: a manager over a log that is written by hand, and its admin API.
//!
//! The nodes of that log do not exist: nobody hears them, so nothing happens to them that a test has not asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ostrakon_admin::{Admin, AdminSettings, Token};
use ostrakon_core::{
    Command, Entry, Granting, GroupName, GroupSpec, Incarnation, Index, NodeName, NodeVersion,
    Registration, ShardCount, ShardId, ShardKey, Term,
};
use ostrakon_manager::{Manager, ManagerSettings, View};
use ostrakon_storage::{Append, Memory, Storage, StorageSettings};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::description;

pub(crate) const TOKEN: &str = "0123456789abcdef-token";

/// A manager and its admin API.
pub(crate) struct House {
    pub(crate) manager: Manager,
    pub(crate) admin: Admin,
    pub(crate) storage: Arc<dyn Storage>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl House {
    /// Two nodes; the first has all ten shards.
    pub(crate) async fn with_two_nodes() -> Self {
        Self::with(with_token()).await
    }

    /// The same with other settings. The log is empty at first, so the manager leads at once.
    pub(crate) async fn with(admin: AdminSettings) -> Self {
        let storage = Arc::new(Memory::new(StorageSettings::default()));
        let house = Self::over(storage, manager_settings(), admin).await;
        let policy = manager_settings().policy;
        house
            .until("its rules", |view| *view.state().policy() == policy)
            .await;
        house.write(two_nodes()).await;
        house
            .until("two nodes", |view| view.state().members().len() == 2)
            .await;
        house
    }

    /// Writes into the log, in the place of the manager.
    async fn write(&self, commands: impl IntoIterator<Item = Command>) {
        let (term, last) = {
            let view = self.manager.desk().view();
            (view.state().term(), view.state().applied())
        };
        let entry = |command| Entry { term, command };
        let entries: Vec<_> = commands.into_iter().map(entry).collect();
        let append = Append::behind(last, &entries);
        self.storage.append(append).await.unwrap();
    }

    /// A manager that leads, over a log.
    pub(crate) async fn over(
        storage: Arc<dyn Storage>,
        manager: ManagerSettings,
        admin: AdminSettings,
    ) -> Self {
        let house = Self::standing_by(storage, manager, admin).await;
        house
            .until("it leads", |view| {
                view.leader().is_some_and(|leader| leader.is_me)
            })
            .await;
        house
    }

    /// The same, which may not lead yet.
    pub(crate) async fn standing_by(
        storage: Arc<dyn Storage>,
        manager: ManagerSettings,
        admin: AdminSettings,
    ) -> Self {
        let manager = Manager::start_over(Arc::clone(&storage), manager)
            .await
            .unwrap();
        let admin = Admin::start(manager.desk().clone(), admin).await.unwrap();
        Self {
            manager,
            admin,
            storage,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.admin.address()
    }

    /// Waits until the view of the manager is as wanted.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&View) -> bool) {
        let mut events = self.manager.desk().follow();
        let began = Instant::now();
        while !wanted(&self.manager.desk().view()) {
            let patience = Duration::from_secs(20).saturating_sub(began.elapsed());
            // Who leads is no event: look from time to time as well.
            let _ = tokio::time::timeout(Duration::from_millis(100), events.changed()).await;
            assert!(!patience.is_zero(), "{what} did not happen in time");
        }
    }

    /// What a path answers, which must be as described.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        let reply = self.send(&request("GET", path, &[], "")).await;
        description::check("get", path, &reply);
        reply
    }

    /// What a path answers to somebody with the token.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Reply {
        self.post_as(path, body, &[("Authorization", &format!("Bearer {TOKEN}"))])
            .await
    }

    pub(crate) async fn post_as(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> Reply {
        let reply = self.send(&request("POST", path, headers, body)).await;
        description::check("post", path, &reply);
        reply
    }

    pub(crate) async fn send(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        read_reply(&mut stream).await
    }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What is wrong, and what to do about it.
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let problem = self.json();
        let text = |key: &str| {
            problem[key]
                .as_str()
                .filter(|text| !text.is_empty())
                .unwrap()
                .to_owned()
        };
        format!("{} | {}", text("error"), text("remedy"))
    }
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let length = body.len();
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n"
    );
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request + "\r\n" + body
}

pub(crate) async fn read_reply(stream: &mut (impl AsyncReadExt + Unpin)) -> Reply {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    // A caller that is refused before it has sent everything may see the connection break after the answer.
    let _ = tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .expect("an answer in time");
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply {
        status,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

pub(crate) fn manager_settings() -> ManagerSettings {
    ManagerSettings {
        // A manager looks once a second whether another leads.
        patience: Duration::from_millis(1500),
        ..ManagerSettings::default()
    }
}

pub(crate) fn with_token() -> AdminSettings {
    AdminSettings {
        token: Some(Token::new(TOKEN).unwrap()),
        metrics: Some(Arc::new(|| "ostrakon_manager_leads 1\n".to_owned())),
        ..AdminSettings::default()
    }
}

/// Two nodes are registered, and the first has all ten shards.
pub(crate) async fn written_log() -> Arc<dyn Storage> {
    let rules = [Command::SetPolicy(manager_settings().policy)];
    log_of(rules.into_iter().chain(two_nodes())).await
}

/// Behind two entries: a group, a node that has all of its ten shards, and a node that has none.
fn two_nodes() -> [Command; 4] {
    let group = GroupSpec {
        name: GroupName::default(),
        count: ShardCount::new(10).unwrap(),
        hash: "stable".to_owned(),
        role: None,
    };
    let all = (1..=10).map(|number| Granting {
        shard: ShardKey {
            group: GroupName::default(),
            shard: ShardId::new(number).unwrap(),
        },
        to: Incarnation::new(4),
    });
    [
        Command::CreateGroup(group.clone()),
        Command::Register(registration("node-1", 1, &group)),
        Command::Grant(all.collect()),
        Command::Register(registration("node-2", 2, &group)),
    ]
}

/// A log that a former manager has left behind.
pub(crate) async fn log_of(commands: impl IntoIterator<Item = Command>) -> Arc<dyn Storage> {
    let former = Command::Takeover {
        grantor: NodeName::new("former").unwrap(),
        run: 1,
    };
    let entry = |term| {
        move |command| Entry {
            term: Term::new(term),
            command,
        }
    };
    let mut entries = vec![entry(0)(former)];
    entries.extend(commands.into_iter().map(entry(1)));
    let storage = Memory::new(StorageSettings::default());
    storage
        .append(Append::behind(Index::default(), &entries))
        .await
        .unwrap();
    Arc::new(storage)
}

fn registration(name: &str, nonce: u64, group: &GroupSpec) -> Registration {
    Registration {
        name: NodeName::new(name).unwrap(),
        address: "127.0.0.1:1".to_owned(),
        nonce,
        version: NodeVersion::new("1.0.0"),
        roles: BTreeSet::new(),
        weight: 1,
        groups: vec![group.clone()],
        place: BTreeMap::new(),
    }
}
