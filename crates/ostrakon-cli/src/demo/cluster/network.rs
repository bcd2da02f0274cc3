//! `Network`: a network of our own, in which every process is a host and what is between two of them can be cut.
//!
//! The program starts itself anew in a network namespace with a bridge in it. Each process lives in one more, with a cable to the
//! bridge. Nobody else sees any of it, and the kernel takes it away with the last process, however that ends.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::Ipv4Addr,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, bail, ensure};

/// How to leave everybody else's network: as root, or as root of a user namespace.
const WAYS_OUT: [&[&str]; 2] = [
    &["--net", "--mount"],
    &["--map-root-user", "--net", "--mount"],
];
/// Names of namespaces are files here: with a folder of our own, they are ours alone.
const BEGIN: &str = r#"mount -t tmpfs tmpfs /run && exec "$@""#;
const BRIDGE: &str = "bridge";
/// The hardware address of nobody.
const NOWHERE: &str = "02:00:00:00:00:00";

pub(crate) struct Network {
    hosts: Mutex<BTreeMap<String, Ipv4Addr>>,
}

impl Network {
    /// Where the process is that made the network. The addresses are those that are set aside for examples.
    pub(crate) const MIDDLE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    /// Set for the program that was started anew.
    pub(crate) const INSIDE: &str = "OSTRAKON_DEMO_INSIDE";

    /// Whether this process is in a network of its own.
    pub(crate) fn is_inside() -> bool {
        std::env::var_os(Self::INSIDE).is_some()
    }

    /// Starts this program anew in a network of its own, with the same arguments. Comes back only with an error.
    pub(crate) fn enter() -> anyhow::Result<Infallible> {
        let works = |way: &&[&str]| {
            let mut tried = Command::new("unshare");
            tried.args(*way).arg("true");
            tried.stdout(Stdio::null()).stderr(Stdio::null());
            tried.status().is_ok_and(|status| status.success())
        };
        let Some(way) = WAYS_OUT.into_iter().find(works) else {
            bail!(
                "network namespaces cannot be made here: run it as root, or without --namespaces"
            );
        };
        let program = std::env::current_exe().context("cannot find this program")?;
        let error = Command::new("unshare")
            .args(way)
            .args(["sh", "-c", BEGIN, "sh"])
            .arg(program)
            .args(std::env::args_os().skip(1))
            .env(Self::INSIDE, "yes")
            .exec();
        Err(error).context("cannot start `unshare`")
    }

    /// Lays the network out. To be called inside.
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let middle = Self::MIDDLE;
        ip("link set lo up").await?;
        ip(&format!("link add {BRIDGE} type bridge")).await?;
        ip(&format!("addr add {middle}/24 dev {BRIDGE}")).await?;
        ip(&format!("link set {BRIDGE} up")).await?;
        Ok(Self {
            hosts: Mutex::default(),
        })
    }

    /// The address of a host, which is made if there is none of this name.
    pub(crate) async fn join(&self, name: &str) -> anyhow::Result<Ipv4Addr> {
        if let Some(address) = self.address(name) {
            return Ok(address);
        }
        let address = self.next_address(name)?;
        ip(&format!("netns add {name}")).await?;
        ip(&format!(
            "link add {name} type veth peer name eth0 netns {name}"
        ))
        .await?;
        ip(&format!("link set {name} master {BRIDGE} up")).await?;
        ip(&format!("-n {name} addr add {address}/24 dev eth0")).await?;
        ip(&format!("-n {name} link set eth0 up")).await?;
        ip(&format!("-n {name} link set lo up")).await?;
        Ok(address)
    }

    /// Nothing gets from one of the two to the other any more, and nobody is told.
    pub(crate) async fn cut(&self, one: &str, other: &str) -> anyhow::Result<()> {
        self.cut_one_way(one, other).await?;
        self.cut_one_way(other, one).await
    }

    /// Nothing gets from the one to the other any more.
    pub(crate) async fn cut_one_way(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let to = self.address(to).context("there is no such host")?;
        ip(&format!(
            "-n {from} neigh replace {to} lladdr {NOWHERE} dev eth0 nud permanent"
        ))
        .await
    }

    /// Undoes a [cut](Self::cut).
    pub(crate) async fn mend(&self, one: &str, other: &str) -> anyhow::Result<()> {
        for (from, to) in [(one, other), (other, one)] {
            let to = self.address(to).context("there is no such host")?;
            // What was cut one way has no entry the other way.
            let _ = ip(&format!("-n {from} neigh del {to} dev eth0")).await;
        }
        Ok(())
    }

    fn address(&self, name: &str) -> Option<Ipv4Addr> {
        self.hosts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .copied()
    }

    fn next_address(&self, name: &str) -> anyhow::Result<Ipv4Addr> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let last = u8::try_from(hosts.len() + 2).context("the network is full")?;
        let [a, b, c, _] = Self::MIDDLE.octets();
        let address = Ipv4Addr::new(a, b, c, last);
        hosts.insert(name.to_owned(), address);
        Ok(address)
    }
}

async fn ip(arguments: &str) -> anyhow::Result<()> {
    let done = tokio::process::Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .await
        .context("cannot start `ip`, which is in Debian's package iproute2")?;
    ensure!(
        done.status.success(),
        "`ip {arguments}`: {}",
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(())
}
