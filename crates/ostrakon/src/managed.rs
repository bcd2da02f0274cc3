//! The managed plane: managers decide who owns what, and this node follows.
//!
//! [`Managed`] says where the managers are and how this node takes part. A thread of its own keeps a [`contact`] with each manager and
//! runs the [`driver`], so that what holds the user's threads does not make the node look dead.

mod contact;
mod driver;
mod emptying;
mod event;
mod place;
mod shared;
mod standing;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ostrakon_control::{Hello, Seat};
use ostrakon_core::{
    GroupName, GroupSpec, Incarnation, InvalidId, LeaseTiming, NodeName, NodeVersion, Registration,
    RoleName, ShardGroup,
};
use ostrakon_storage::Storage;
use ostrakon_tls::{Role, Security};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};

pub(crate) use self::event::Event;
use self::{
    contact::Contact,
    driver::{Driver, DriverParts},
    standing::Standing,
};
use crate::{
    Limits, StartError,
    builder::Services,
    link::{Hub, HubParts, Me, bind},
    watchdog::{self, Strictness, Watch},
};

/// How many events may wait for the driver.
const WAITING: usize = 4096;

/// How a node takes part in a cluster that managers look after.
///
/// ```
/// use ostrakon::Managed;
///
/// let managed = Managed::by(["manager-0:9470", "manager-1:9470"])
///     .cluster("bank")
///     .listen("127.0.0.1:0")
///     .version("1.4.0");
/// ```
#[must_use = "give it to `NodeBuilder::managed`"]
#[derive(Clone)]
pub struct Managed {
    managers: Vec<String>,
    cluster: String,
    listen: String,
    advertise: Option<String>,
    security: Security,
    limits: Limits,
    version: NodeVersion,
    roles: BTreeSet<String>,
    group_roles: BTreeMap<GroupName, String>,
    weight: u32,
    slack: Duration,
    strictness: Strictness,
    join_within: Duration,
    leave_within: Duration,
    storage: Option<Arc<dyn Storage>>,
}

impl Managed {
    /// Takes part in the cluster of these managers, each given as `host:port`. One is enough to begin with; name them all, so that
    /// the node finds whichever leads.
    pub fn by<M: Into<String>>(managers: impl IntoIterator<Item = M>) -> Self {
        Self {
            managers: managers.into_iter().map(Into::into).collect(),
            cluster: "ostrakon".to_owned(),
            listen: "127.0.0.1:0".to_owned(),
            advertise: None,
            security: Security::plaintext(),
            limits: Limits::default(),
            version: NodeVersion::default(),
            roles: BTreeSet::new(),
            group_roles: BTreeMap::new(),
            weight: 1,
            slack: LeaseTiming::default().times().slack,
            strictness: Strictness::default(),
            join_within: Duration::from_secs(30),
            leave_within: Duration::from_secs(30),
            storage: None,
        }
    }

    /// The cluster's name; `ostrakon` unless told otherwise. Managers of another cluster refuse the node.
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = name.into();
        self
    }

    /// Where other nodes reach this one; a free loopback port unless told otherwise.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// What to tell others to dial, where it is not the address that the node listens on: a host name, or a port that is forwarded.
    pub fn advertise(mut self, address: impl Into<String>) -> Self {
        self.advertise = Some(address.into());
        self
    }

    /// How connections to managers and nodes are protected; plain text on loopback unless told otherwise.
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// What connections to other nodes may use.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Which version of the program this is, such as `1.4.0`: during a rolling update shards go to the newest.
    pub fn version(mut self, version: impl AsRef<str>) -> Self {
        self.version = NodeVersion::new(version);
        self
    }

    /// What the node is for. A shard group that asks for a role lives on nodes that have it.
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.roles.insert(role.into());
        self
    }

    /// The shards of this group live only on nodes that have this role. All nodes that know the group have to say so.
    pub fn group_role(mut self, group: GroupName, role: impl Into<String>) -> Self {
        self.group_roles.insert(group, role.into());
        self
    }

    /// The node's share of the shards compared with that of others; 1 unless told otherwise.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// For how long a piece of an entity's code may hold its thread when the node's lease ends. It must not be more than the managers
    /// allow.
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack = slack;
        self
    }

    /// What happens to the process when a piece of an entity's code holds its thread for longer than that.
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// How long `start` waits for a manager to let the node in.
    pub fn join_within(mut self, time: Duration) -> Self {
        self.join_within = time;
        self
    }

    /// How long `leave` waits for the shards to be taken over.
    pub fn leave_within(mut self, time: Duration) -> Self {
        self.leave_within = time;
        self
    }

    /// The storage of the managers, if nodes can reach it too. The node then reads the log there and, under leases, renews its own
    /// there: it does not notice when the managers are away, and can start and stop meanwhile.
    pub fn storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = Some(storage);
        self
    }

    pub(crate) async fn open(
        &self,
        name: &NodeName,
        groups: &[ShardGroup],
        services: &Services,
    ) -> Result<(Arc<Hub>, TcpListener), StartError> {
        let failed = |cause: std::io::Error| StartError::Listen {
            address: self.listen.clone(),
            cause: cause.to_string(),
        };
        let (listener, address) = bind(&self.listen).await.map_err(failed)?;
        self.security
            .check(&self.cluster, Role::Node, name.as_str(), address)?;
        let parts = HubParts {
            me: Me {
                cluster: self.cluster.clone(),
                name: name.clone(),
                incarnation: Incarnation::new(nanos_since_1970()),
                groups: groups.to_vec(),
                message: self.limits.message,
            },
            limits: self.limits,
            security: self.security.clone(),
            clock: services.clock,
            topology: Arc::clone(&services.topology),
            actors: Arc::clone(&services.actors),
        };
        Ok((Hub::new(parts, address), listener))
    }

    /// Joins: returns once a manager has let the node in and it knows who owns what.
    pub(crate) async fn join(&self, hub: &Arc<Hub>, seat: Seat) -> Result<Membership, StartError> {
        let registration = self.registration(hub)?;
        let (events, incoming) = mpsc::channel(WAITING);
        let (standing, mut watching) = watch::channel(Standing::default());
        let hello = Hello {
            cluster: self.cluster.clone(),
            name: hub.me.name.to_string(),
            seat,
        };
        let contacts = self
            .managers
            .iter()
            .enumerate()
            .map(|(number, manager)| Contact {
                number,
                manager: manager.clone(),
                security: self.security.clone(),
                hello: hello.clone(),
                events: events.clone(),
            });
        let parts = DriverParts {
            registration,
            slack: self.slack,
            seat,
            storage: self.storage.clone(),
            events: events.clone(),
            standing,
        };
        let driver = Driver::new(hub, parts);
        driver::on_its_own_thread(driver, contacts.collect(), incoming)
            .map_err(StartError::no_thread)?;
        hub.follow(events.clone());
        if seat == Seat::Node {
            self.watch(hub).map_err(StartError::no_thread)?;
        }
        let membership = Membership {
            events,
            standing: watching.clone(),
            leave_within: self.leave_within,
        };
        let joined = watching.wait_for(|standing| standing.is_settled());
        let standing = match tokio::time::timeout(self.join_within, joined).await {
            Ok(Ok(standing)) => standing.clone(),
            Ok(Err(_)) | Err(_) => membership.standing.borrow().clone(),
        };
        standing.into_result(&self.managers, self.join_within)?;
        Ok(membership)
    }

    /// Sees to it that nothing acts for long after the end of a lease.
    fn watch(&self, hub: &Hub) -> io::Result<()> {
        let watch = Watch {
            node: hub.me.name.to_string(),
            slack: self.slack,
            drift_permille: LeaseTiming::default().times().drift_permille,
            strictness: self.strictness,
        };
        watchdog::spawn(&hub.lease, watch)
    }

    fn spec(&self, group: &ShardGroup) -> Result<GroupSpec, InvalidId> {
        let role = self.group_roles.get(&group.name);
        Ok(GroupSpec {
            name: group.name.clone(),
            count: group.count,
            hash: group.hash.name().to_owned(),
            role: role.map(RoleName::new).transpose()?,
        })
    }

    fn registration(&self, hub: &Hub) -> Result<Registration, StartError> {
        let address = self
            .advertise
            .clone()
            .unwrap_or_else(|| hub.address.to_string());
        let roles: Result<_, _> = self.roles.iter().map(RoleName::new).collect();
        let groups = hub.me.groups.iter().map(|group| self.spec(group));
        let groups: Result<_, InvalidId> = groups.collect();
        Ok(Registration {
            name: hub.me.name.clone(),
            address,
            nonce: fastrand::u64(..),
            version: self.version.clone(),
            roles: roles?,
            weight: self.weight,
            groups: groups?,
            place: place::here(),
        })
    }
}

fn nanos_since_1970() -> u64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
}

impl From<&str> for Managed {
    fn from(manager: &str) -> Self {
        Self::by([manager])
    }
}

impl From<String> for Managed {
    fn from(manager: String) -> Self {
        Self::by([manager])
    }
}

impl From<SocketAddr> for Managed {
    fn from(manager: SocketAddr) -> Self {
        Self::by([manager.to_string()])
    }
}

/// A node's place in the cluster, for as long as it has one.
pub(crate) struct Membership {
    events: mpsc::Sender<Event>,
    standing: watch::Receiver<Standing>,
    leave_within: Duration,
}

impl Membership {
    /// Hands all shards over, in good order. `false`: nobody could take them in time.
    pub(crate) async fn leave(&self) -> bool {
        let mut standing = self.standing.clone();
        let left = async {
            self.events.send(Event::Leave).await.ok()?;
            standing.wait_for(Standing::is_over).await.ok()?;
            Some(())
        };
        let left = tokio::time::timeout(self.leave_within, left).await;
        left.is_ok_and(|left| left.is_some()) && self.standing.borrow().has_left()
    }
}
