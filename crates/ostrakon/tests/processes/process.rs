//! The parent's side: processes that are there as long as the test holds them.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    ops::Index,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::oneshot;

use crate::order::{MARK, Order, ROLE, Report, Role};

/// How long anything may take that is expected to happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// One process, which is killed when this is dropped.
pub(crate) struct Process {
    name: &'static str,
    child: Mutex<Child>,
    input: Mutex<ChildStdin>,
    address: String,
    awaited: Awaited,
    numbers: AtomicU64,
}

/// Reports that are waited for, by the number of their order. Emptied when the process ends.
type Awaited = Arc<Mutex<BTreeMap<u64, oneshot::Sender<Report>>>>;

impl Process {
    pub(crate) async fn start(name: &'static str, silence: Duration) -> Self {
        let role = Role {
            name: name.to_owned(),
            silence,
        };
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "node_process"])
            .env(ROLE, serde_json::to_string(&role).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let awaited = Awaited::default();
        let (ready, starts) = oneshot::channel();
        awaited.lock().unwrap().insert(0, ready);
        std::thread::spawn({
            let awaited = Arc::clone(&awaited);
            move || listen(output, &awaited)
        });
        let mut process = Self {
            name,
            child: Mutex::new(child),
            input: Mutex::new(input),
            address: String::new(),
            awaited,
            numbers: AtomicU64::new(1),
        };
        let ready = report(name, starts).await;
        let Report::Ready(address) = ready else {
            panic!("{name} begins with {ready:?}");
        };
        process.address = address;
        process
    }

    /// Gives an order, at once; the report can be waited for.
    pub(crate) fn order(&self, order: Order) -> impl Future<Output = Report> + Send + use<> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, reported) = oneshot::channel();
        self.awaited.lock().unwrap().insert(number, sender);
        let line = serde_json::to_string(&(number, order)).unwrap();
        let mut input = self.input.lock().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
        report(self.name, reported)
    }

    /// Puts something on a desk.
    pub(crate) fn ask(
        &self,
        desk: &str,
        entry: u64,
        within: Duration,
    ) -> impl Future<Output = Report> + Send + use<> {
        self.order(Order::Ask {
            desk: desk.to_owned(),
            entry,
            within,
        })
    }

    /// `kill -9`.
    pub(crate) fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Sends a signal that does not end it, such as `STOP`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.lock().unwrap().id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success(), "{signal} to {}", self.name);
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(&self) -> ExitStatus {
        self.child.lock().unwrap().wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        if let Ok(child) = self.child.get_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

async fn report(name: &str, reported: oneshot::Receiver<Report>) -> Report {
    tokio::time::timeout(SOON, reported)
        .await
        .unwrap_or_else(|_| panic!("{name} does not report"))
        .unwrap_or_else(|_| panic!("{name} has ended"))
}

/// Passes reports on to those who wait for them, until the process ends.
fn listen(output: ChildStdout, awaited: &Awaited) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let Some(line) = line.strip_prefix(MARK) else {
            continue;
        };
        let (number, report): (u64, Report) = serde_json::from_str(line).unwrap();
        if let Some(waiting) = awaited.lock().unwrap().remove(&number) {
            // The test may have ended.
            let _ = waiting.send(report);
        }
    }
    awaited.lock().unwrap().clear();
}

/// Processes that know each other, and whose shards they own in turn.
pub(crate) struct Processes {
    pub(crate) names: Vec<&'static str>,
    silence: Duration,
    running: BTreeMap<&'static str, Process>,
}

impl Processes {
    pub(crate) async fn start<const N: usize>(names: [&'static str; N], silence: Duration) -> Self {
        let starting = names.map(|name| Process::start(name, silence));
        let started = futures_util::future::join_all(starting).await;
        let all = Self {
            names: names.to_vec(),
            silence,
            running: names.into_iter().zip(started).collect(),
        };
        for name in names {
            all.introduce(name).await;
            all.give_map(name).await;
        }
        all
    }

    /// Starts one of them again, and makes it known to the others.
    pub(crate) async fn restart(&mut self, name: &'static str) {
        let process = Process::start(name, self.silence).await;
        self.running.insert(name, process);
        self.introduce(name).await;
        self.give_map(name).await;
    }

    /// Makes a process and the others known to each other.
    async fn introduce(&self, name: &str) {
        for (other, process) in self.running.iter().filter(|(other, _)| **other != name) {
            for (to, peer, address) in [
                (&self[name], *other, &process.address),
                (process, name, &self[name].address),
            ] {
                let introduce = Order::Introduce {
                    peer: peer.to_owned(),
                    address: address.clone(),
                };
                assert_eq!(to.order(introduce).await, Report::Done);
            }
        }
    }

    async fn give_map(&self, name: &str) {
        let owners = self.names.iter().map(|name| (*name).to_owned()).collect();
        let adopted = self[name].order(Order::Adopt { owners }).await;
        assert_eq!(adopted, Report::Done);
    }
}

impl Index<&str> for Processes {
    type Output = Process;

    fn index(&self, name: &str) -> &Process {
        &self.running[name]
    }
}
