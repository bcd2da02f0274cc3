//! `Part`: how a node takes part in a cluster, on either plane.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ostrakon_control::{Hello, Seat};
use ostrakon_core::{
    GroupName, GroupSpec, Incarnation, InvalidId, LeaseTiming, NodeName, NodeVersion, Registration,
    RoleName, ShardGroup, TopologySnapshot,
};
use ostrakon_storage::Storage;
use ostrakon_tls::{Role, Security};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};

use super::{
    Event,
    contact::Address,
    contacts::Contacts,
    driver::{self, Driver, DriverParts},
    place,
    standing::Standing,
};
use crate::{
    Limits, StartError,
    builder::Services,
    host::Pulse,
    link::{Hub, HubParts, Me, bind},
    watchdog::{self, Strictness, Watch},
};

/// How many events may wait for the driver.
const WAITING: usize = 4096;

/// What a node says about itself, and how it is reached.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) cluster: String,
    pub(crate) listen: String,
    pub(crate) advertise: Option<String>,
    pub(crate) security: Security,
    pub(crate) limits: Limits,
    pub(crate) version: NodeVersion,
    pub(crate) roles: BTreeSet<String>,
    pub(crate) group_roles: BTreeMap<GroupName, String>,
    pub(crate) weight: u32,
    pub(crate) slack: Duration,
    pub(crate) strictness: Strictness,
    pub(crate) join_within: Duration,
    pub(crate) leave_within: Duration,
}

impl Default for Part {
    fn default() -> Self {
        Self {
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
        }
    }
}

/// The settings that a node has on either plane, for a type with a field `part`.
macro_rules! part_settings {
    () => {
        /// The cluster's name; `ostrakon` unless told otherwise. Those of another cluster refuse the node.
        pub fn cluster(mut self, name: impl Into<String>) -> Self {
            self.part.cluster = name.into();
            self
        }

        /// Where other nodes send messages for this one's entities; a free loopback port unless told otherwise.
        pub fn listen(mut self, address: impl Into<String>) -> Self {
            self.part.listen = address.into();
            self
        }

        /// What to tell others to dial, where it is not the address that the node listens on: a host name, or a port that is
        /// forwarded.
        pub fn advertise(mut self, address: impl Into<String>) -> Self {
            self.part.advertise = Some(address.into());
            self
        }

        /// How connections are protected; plain text on loopback unless told otherwise.
        pub fn security(mut self, security: Security) -> Self {
            self.part.security = security;
            self
        }

        /// What connections to other nodes may use.
        pub fn limits(mut self, limits: Limits) -> Self {
            self.part.limits = limits;
            self
        }

        /// Which version of the program this is, such as `1.4.0`: during a rolling update shards go to the newest.
        pub fn version(mut self, version: impl AsRef<str>) -> Self {
            self.part.version = NodeVersion::new(version);
            self
        }

        /// What the node is for. A shard group that asks for a role lives on nodes that have it.
        pub fn role(mut self, role: impl Into<String>) -> Self {
            self.part.roles.insert(role.into());
            self
        }

        /// The shards of this group live only on nodes that have this role. All nodes that know the group have to say so.
        pub fn group_role(mut self, group: GroupName, role: impl Into<String>) -> Self {
            self.part.group_roles.insert(group, role.into());
            self
        }

        /// The node's share of the shards compared with that of others; 1 unless told otherwise.
        pub fn weight(mut self, weight: u32) -> Self {
            self.part.weight = weight;
            self
        }

        /// For how long a piece of an entity's code may hold its thread when the node's lease ends. It must not be more than the
        /// cluster allows.
        pub fn slack(mut self, slack: Duration) -> Self {
            self.part.slack = slack;
            self
        }

        /// What happens to the process when a piece of an entity's code holds its thread for longer than that.
        pub fn strictness(mut self, strictness: Strictness) -> Self {
            self.part.strictness = strictness;
            self
        }

        /// How long `start` waits for the node to be let in.
        pub fn join_within(mut self, time: Duration) -> Self {
            self.part.join_within = time;
            self
        }

        /// How long `leave` waits for the shards to be taken over.
        pub fn leave_within(mut self, time: Duration) -> Self {
            self.part.leave_within = time;
            self
        }
    };
}
pub(crate) use part_settings;

/// Who decides in the cluster.
pub(crate) struct Deciders {
    /// Where they are, now and from now on.
    pub(crate) addresses: watch::Receiver<Vec<Address>>,
    /// What their certificates say they are.
    pub(crate) role: Role,
    /// Where their log can be read as well.
    pub(crate) storage: Option<Arc<dyn Storage>>,
    /// Who is there, as the nodes tell each other.
    pub(crate) gossip: Option<watch::Receiver<TopologySnapshot>>,
}

impl Part {
    /// Opens the port for other nodes.
    pub(crate) async fn open(
        &self,
        name: &NodeName,
        seat: Seat,
        groups: &[ShardGroup],
        services: &Services,
    ) -> Result<(Arc<Hub>, TcpListener), StartError> {
        let failed = |cause: std::io::Error| StartError::Listen {
            address: self.listen.clone(),
            cause: cause.to_string(),
        };
        let (listener, address) = bind(&self.listen).await.map_err(failed)?;
        self.check(name, seat, address)?;
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

    /// Joins: returns once the node has been let in and knows who owns what.
    pub(crate) async fn join(
        &self,
        hub: &Arc<Hub>,
        seat: Seat,
        deciders: Deciders,
    ) -> Result<Membership, StartError> {
        let registration = self.registration(hub)?;
        let (events, incoming) = mpsc::channel(WAITING);
        let (standing, mut watching) = watch::channel(Standing::default());
        let heard_of = watch::Sender::new(Vec::new());
        let contacts = Contacts {
            wanted: deciders.addresses,
            heard_of: heard_of.subscribe(),
            role: deciders.role,
            security: self.security.clone(),
            hello: Hello {
                cluster: self.cluster.clone(),
                name: hub.me.name.to_string(),
                seat,
            },
            events: events.clone(),
        };
        let parts = DriverParts {
            registration,
            slack: self.slack,
            seat,
            storage: deciders.storage,
            gossip: deciders.gossip,
            events: events.clone(),
            standing,
            heard_of,
        };
        let driver = Driver::new(hub, parts);
        driver::on_its_own_thread(driver, contacts, incoming).map_err(StartError::no_thread)?;
        hub.follow(events.clone());
        if seat == Seat::Node {
            self.watch(hub).map_err(StartError::no_thread)?;
        }
        let membership = Membership {
            events,
            standing: watching.clone(),
            leave_within: self.leave_within,
            #[cfg(feature = "peers")]
            council: None,
        };
        let joined = watching.wait_for(|standing| standing.is_settled());
        let standing = match tokio::time::timeout(self.join_within, joined).await {
            Ok(Ok(standing)) => standing.clone(),
            Ok(Err(_)) | Err(_) => membership.standing.borrow().clone(),
        };
        standing.into_result(self.join_within)?;
        Ok(membership)
    }

    /// Whether this node's certificates are what it needs. One that hosts nothing may have those of a client.
    fn check(
        &self,
        name: &NodeName,
        seat: Seat,
        address: std::net::SocketAddr,
    ) -> Result<(), ostrakon_tls::Unfit> {
        let check = |role| {
            self.security
                .check(&self.cluster, role, name.as_str(), address)
        };
        match seat {
            Seat::Node => check(Role::Node),
            Seat::Client => check(Role::Client).or_else(|_| check(Role::Node)),
        }
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

/// A node's place in the cluster, for as long as it has one.
pub(crate) struct Membership {
    events: mpsc::Sender<Event>,
    standing: watch::Receiver<Standing>,
    leave_within: Duration,
    /// On the peer plane, the node's share in deciding.
    #[cfg(feature = "peers")]
    pub(crate) council: Option<ostrakon_council::Council>,
}

impl Membership {
    /// What the entities of a kind have done lately. If there is too much to do, it is as well not known.
    pub(crate) fn has_pulse(&self, pulse: Pulse) {
        let _ = self.events.try_send(Event::Pulse(Box::new(pulse)));
    }

    /// Hands all shards over, in good order. `false`: nobody could take them in time.
    pub(crate) async fn leave(&self) -> bool {
        let handed_over = tokio::time::timeout(self.leave_within, self.hand_over()).await;
        #[cfg(feature = "peers")]
        if let Some(council) = &self.council {
            council.leave().await;
        }
        handed_over.is_ok() && self.standing.borrow().has_left()
    }

    /// Hands all shards over, as soon as what lives in them has ended.
    pub(crate) async fn hand_over(&self) {
        let mut standing = self.standing.clone();
        if self.events.send(Event::Leave).await.is_ok() {
            // A driver that has ended has nothing to hand over.
            let _ = standing.wait_for(Standing::is_over).await;
        }
    }

    /// Whether the node has gone already.
    pub(crate) fn is_over(&self) -> bool {
        self.standing.borrow().is_over()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // If it is too busy to hear it, it finds out within a second.
        let _ = self.events.try_send(Event::Dropped);
    }
}
