//! With real children, and with what `/proc` could say of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpListener,
    process::{Child, Command},
};

use ostrakon_core::{NodeName, NodeVersion};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::net::TcpSocket;

use super::*;
use crate::Auto;

const GONE: Liveness = Liveness::Dead(DeathProof::ProcessGone);

/// A process that does nothing for long. It is killed with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        let child = Command::new("sleep").arg("600").spawn();
        Self(child.expect("sleep is there"))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it is our child");
    }

    /// Until it has stopped, continued or ended; if it has ended, it stays a zombie.
    fn wait_until(&self, what: WaitIdOptions) {
        let id = WaitId::Pid(self.pid());
        waitid(id, what | WaitIdOptions::NOWAIT).expect("it is our child");
    }

    /// What it would have registered.
    fn registration(&self) -> Registration {
        let id = self.0.id();
        let read = |path: String| fs::read_to_string(path).expect("it is there");
        let space = fs::read_link(format!("/proc/{id}/ns/pid")).expect("it is ours");
        let began = Stat::read(&read(format!("/proc/{id}/stat")))
            .expect("a line")
            .began;
        let boot = read("/proc/sys/kernel/random/boot_id".to_owned());
        let place = [
            ("process.boot", boot.trim()),
            ("process.space", space.to_str().expect("plain letters")),
            ("process.id", &id.to_string()),
            ("process.began", &began.to_string()),
        ];
        node(place.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn node(place: impl Into<BTreeMap<String, String>>) -> Registration {
    Registration {
        name: NodeName::new("a").expect("a name"),
        address: "127.0.0.1:1".to_owned(),
        nonce: 1,
        version: NodeVersion::new("1"),
        roles: BTreeSet::new(),
        weight: 1,
        groups: Vec::new(),
        place: place.into(),
    }
}

fn with(mut node: Registration, name: &str, value: &str) -> Registration {
    node.place.insert(name.to_owned(), value.to_owned());
    node
}

#[tokio::test]
async fn a_process_is_alive_until_it_is_gone() {
    let mut sleeper = Sleeper::start();
    let (process, node) = (Process::new(), sleeper.registration());
    assert_eq!(process.probe(&node).await, Liveness::Alive);
    sleeper.0.kill().unwrap();
    sleeper.0.wait().unwrap();
    assert_eq!(process.probe(&node).await, GONE);
}

#[tokio::test]
async fn a_zombie_acts_no_more() {
    let sleeper = Sleeper::start();
    let (process, node) = (Process::new(), sleeper.registration());
    sleeper.signal(Signal::KILL);
    sleeper.wait_until(WaitIdOptions::EXITED);
    let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.0.id())).unwrap();
    assert!(stat.contains(") Z "), "{stat}");
    assert_eq!(process.probe(&node).await, GONE);
}

#[tokio::test]
async fn a_stopped_process_is_alive() {
    let sleeper = Sleeper::start();
    let (process, node) = (Process::new(), sleeper.registration());
    sleeper.signal(Signal::STOP);
    sleeper.wait_until(WaitIdOptions::STOPPED);
    assert_eq!(process.probe(&node).await, Liveness::Alive);
    sleeper.signal(Signal::CONT);
    sleeper.wait_until(WaitIdOptions::CONTINUED);
    assert_eq!(process.probe(&node).await, Liveness::Alive);
}

#[tokio::test]
async fn a_number_that_somebody_else_has_is_proof() {
    let sleeper = Sleeper::start();
    let node = with(sleeper.registration(), "process.began", "1");
    assert_eq!(Process::new().probe(&node).await, GONE);
}

#[tokio::test]
async fn of_another_boot_or_space_nothing_is_known() {
    let mut sleeper = Sleeper::start();
    let node = sleeper.registration();
    sleeper.0.kill().unwrap();
    sleeper.0.wait().unwrap();
    let process = Process::new();
    for (name, value) in [
        ("process.boot", "00000000-0000-0000-0000-000000000000"),
        ("process.space", "pid:[1]"),
    ] {
        let elsewhere = with(node.clone(), name, value);
        assert_eq!(process.probe(&elsewhere).await, Liveness::Unknown, "{name}");
    }
    assert_eq!(process.probe(&node).await, GONE);
}

#[tokio::test]
async fn half_an_identity_is_none() {
    let sleeper = Sleeper::start();
    let (process, node) = (Process::new(), sleeper.registration());
    for name in [
        "process.boot",
        "process.space",
        "process.id",
        "process.began",
    ] {
        let mut half = node.clone();
        half.place.remove(name);
        assert_eq!(process.probe(&half).await, Liveness::Unknown, "{name}");
    }
    for (name, value) in [
        ("process.id", "0"),
        ("process.id", "-1"),
        ("process.id", "self"),
        ("process.id", "99999999999"),
        ("process.began", "yesterday"),
    ] {
        let odd = with(node.clone(), name, value);
        assert_eq!(
            process.probe(&odd).await,
            Liveness::Unknown,
            "{name} {value}"
        );
    }
}

#[tokio::test]
async fn auto_pings_whom_the_kernel_does_not_know() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sleeper = Sleeper::start();
    let mut here = sleeper.registration();
    here.address = listener.local_addr().unwrap().to_string();
    let mut elsewhere = with(here.clone(), "process.space", "pid:[1]");
    let auto = Auto::default();
    assert_eq!(auto.probe(&here).await, Liveness::Alive);
    sleeper.0.kill().unwrap();
    sleeper.0.wait().unwrap();
    assert_eq!(auto.probe(&here).await, GONE, "whoever listens there now");
    assert_eq!(auto.probe(&elsewhere).await, Liveness::Alive);
    // Taken, so that nobody else listens there.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    elsewhere.address = silent.local_addr().unwrap().to_string();
    assert_eq!(auto.probe(&elsewhere).await, Liveness::Unknown);
}

#[test]
fn what_is_hidden_is_not_gone() {
    let identity = Identity { id: 7, began: 4711 };
    let missing = || Err(io::Error::from(io::ErrorKind::NotFound));
    let yes = |_| true;
    let no = |_| false;
    assert_eq!(identity.judge(missing(), yes, no), GONE);
    assert_eq!(identity.judge(missing(), no, yes), Liveness::Unknown);
    let vanished = Err(io::Error::from_raw_os_error(3));
    assert_eq!(identity.judge(vanished, yes, no), GONE);
    let forbidden = Err(io::Error::from(io::ErrorKind::PermissionDenied));
    assert_eq!(identity.judge(forbidden, yes, yes), Liveness::Unknown);
    let garbage = Ok("no line of ours".to_owned());
    assert_eq!(identity.judge(garbage, yes, yes), Liveness::Unknown);
}

#[test]
fn another_beginning_means_nothing_if_time_is_counted_otherwise() {
    let identity = Identity { id: 7, began: 4711 };
    let later = || Ok("7 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18 4712 20".to_owned());
    assert_eq!(identity.judge(later(), |_| false, |_| true), GONE);
    assert_eq!(
        identity.judge(later(), |_| true, |_| false),
        Liveness::Unknown
    );
}
