//! `Site`: what the processes of one run share: a folder, and if asked for an authority and a network.
//!
//! Each process gets a [`Place`] there: the host that it is, and what it needs to prove who it is.

use std::{
    fs::File,
    io::Read,
    net::{IpAddr, Ipv4Addr, TcpListener},
    ops::Range,
    path::PathBuf,
};

use anyhow::{Context, bail};
use ostrakon::Security;
use ostrakon_tls::{Files, Role};
use tokio::process::Command;

use super::{Certificates, Folder, Network};
use crate::demo::Options;

/// Where a manager of a site with a network listens.
const MANAGER_PORT: u16 = 9470;
/// Where processes listen of which others must know the address before they are there.
const PORTS: Range<u16> = 10_240..25_000;
/// How many of them to try.
const TRIES: usize = 100;

pub(crate) struct Site {
    folder: Folder,
    certificates: Option<Certificates>,
    network: Option<Network>,
    has_sensors: bool,
    token: String,
}

impl Site {
    pub(crate) async fn new(options: &Options) -> anyhow::Result<Self> {
        let folder = Folder::new()?;
        let certificates = (options.tls || options.namespaces)
            .then(|| Certificates::new(&folder.certificates(), folder.name()))
            .transpose()?;
        let network = match options.namespaces {
            true => Some(Network::new().await?),
            false => None,
        };
        Ok(Self {
            folder,
            certificates,
            network,
            has_sensors: options.sensors.is_some(),
            token: token()?,
        })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Whoever has it may say what the cluster shall do.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Whether its nodes host sensors instead of accounts.
    pub(crate) fn has_sensors(&self) -> bool {
        self.has_sensors
    }

    pub(crate) fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// A place for a process of this name; the same as before for one that comes back.
    pub(crate) async fn place(&self, role: Role, name: &str) -> anyhow::Result<Place> {
        if let Some(certificates) = &self.certificates {
            certificates.issue(role, name)?;
        }
        let (host, namespace) = match &self.network {
            Some(network) => (network.join(name).await?, Some(name.to_owned())),
            None => (Ipv4Addr::LOCALHOST, None),
        };
        Ok(Place {
            host: host.into(),
            namespace,
            certificates: self
                .certificates
                .as_ref()
                .map(|_| self.folder.certificates()),
        })
    }

    /// The address of this process.
    pub(crate) fn host(&self) -> Ipv4Addr {
        match &self.network {
            Some(_) => Network::MIDDLE,
            None => Ipv4Addr::LOCALHOST,
        }
    }

    /// How this process protects its connections, as somebody of this name.
    pub(crate) fn security(&self, role: Role, name: &str) -> anyhow::Result<Security> {
        let Some(certificates) = &self.certificates else {
            return Ok(Security::plaintext());
        };
        certificates.issue(role, name)?;
        Ok(Security::tls(Files::in_dir(
            self.folder.certificates(),
            name,
        ))?)
    }
}

/// One that nobody can guess.
fn token() -> anyhow::Result<String> {
    let random: [u8; 16] = random()?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut random = [0; N];
    let source = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    source.context("there is nothing random here")?;
    Ok(random)
}

/// Where one process is.
pub(crate) struct Place {
    pub(crate) host: IpAddr,
    /// The network namespace that it lives in, if it is not that of everybody.
    namespace: Option<String>,
    /// Where its certificate is, if it has one.
    certificates: Option<PathBuf>,
}

impl Place {
    /// This program, to be started there.
    pub(crate) fn program(&self) -> anyhow::Result<Command> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let Some(namespace) = &self.namespace else {
            return Ok(Command::new(program));
        };
        // It becomes the program, so that signals reach it.
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", namespace])
            .arg(program)
            // A manager takes every variable of ours for a setting.
            .env_remove(Network::INSIDE);
        Ok(command)
    }

    pub(crate) fn tls_arguments(&self) -> Vec<String> {
        let Some(dir) = &self.certificates else {
            return Vec::new();
        };
        vec!["--tls-dir".to_owned(), dir.display().to_string()]
    }

    /// An address that nobody uses at the moment. It is none of those that the kernel gives to whoever dials or asks for any: one of these may be gone
    /// when it is needed.
    pub(crate) fn free_address(&self) -> anyhow::Result<String> {
        if self.namespace.is_some() {
            return Ok(format!("{}:{MANAGER_PORT}", self.host));
        }
        for _ in 0..TRIES {
            let [high, low] = random()?;
            let port = PORTS.start + u16::from_be_bytes([high, low]) % (PORTS.end - PORTS.start);
            if TcpListener::bind((self.host, port)).is_ok() {
                return Ok(format!("{}:{port}", self.host));
            }
        }
        bail!("no port is free between {} and {}", PORTS.start, PORTS.end)
    }
}
