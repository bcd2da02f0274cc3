//! The manager of `deploy/kubernetes` with the real command: its settings are taken, it runs with them, and the commands of its probes
//! succeed while it runs and not after. Also what watches it: the catalogue of metrics, the board and the alerts.

#[path = "manifests/alerts.rs"]
mod alerts;
#[path = "manifests/board.rs"]
mod board;
#[path = "manifests/catalogue.rs"]
mod catalogue;
#[path = "manifests/members.rs"]
mod members;
#[path = "manifests/prometheus.rs"]
mod prometheus;
#[path = "manifests/watching.rs"]
mod watching;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// As Kubernetes calls the first of them.
const NAME: &str = "ostrakon-manager-0";

#[test]
fn the_settings_are_what_the_command_takes() {
    let folder = Folder::new("settings");
    let file = folder.settings();
    let mut print = ostrakon(&["manager", "--print-config"]);
    for (name, value) in environment() {
        print.env(name, value);
    }
    let printed = print.env("OSTRAKON_CONFIG", file).output();
    let printed = printed.expect("the command was built for this test");
    assert!(printed.status.success(), "{printed:?}");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    for setting in [
        "name = \"ostrakon-manager-0\"",
        "cluster = \"counter\"",
        "listen = \"0.0.0.0:9470\"",
        "listen = \"0.0.0.0:9471\"",
        "failover = \"lease\"",
        "health = \"kubernetes\"",
        "storage = \"postgres://",
    ] {
        let mut lines = printed.lines();
        assert!(lines.any(|line| line.starts_with(setting)), "{printed}");
    }
}

#[test]
fn the_manager_runs_with_them_and_its_probes_tell() {
    let folder = Folder::new("probes");
    let file = folder.settings();
    for arguments in [
        &["ca", "--cluster", "counter"][..],
        &["manager", NAME],
        &["client", "prometheus"],
    ] {
        let made = ostrakon(&["certs"])
            .args(arguments)
            .arg("--dir")
            .arg(folder.certs())
            .output();
        let made = made.expect("the command was built for this test");
        assert!(made.status.success(), "{made:?}");
    }
    let mut manager = Manager::start(&folder, &file);
    for name in [NAME, "prometheus"] {
        for (probe, state) in [
            ("startupProbe", "alive\n"),
            ("readinessProbe", "ready\n"),
            ("livenessProbe", "alive\n"),
        ] {
            let probed = run_probe(probe, &manager, &folder, name);
            assert!(probed.status.success(), "{probed:?}");
            assert_eq!(String::from_utf8_lossy(&probed.stdout), state, "{probe}");
        }
    }
    manager.end();
    let probed = run_probe("livenessProbe", &manager, &folder, NAME);
    assert_eq!(probed.status.code(), Some(1), "{probed:?}");
}

/// What the container has in its environment, with what Kubernetes would put there.
fn environment() -> Vec<(String, String)> {
    let text = manifest("statefulset.yaml");
    let (_, all) = text.split_once("          env:\n").expect("it has some");
    let (all, _) = all.split_once("          ports:\n").expect("they end");
    let all = all.split("            - name: ").skip(1).map(|one| {
        let (name, rest) = one.split_once('\n').expect("a name and a value");
        let value = match rest.trim().strip_prefix("value: ") {
            Some(value) => value.lines().next().expect("a value").to_owned(),
            None if rest.contains("fieldPath: metadata.name") => NAME.to_owned(),
            None if rest.contains("secretKeyRef") => "postgres://db.example/ostrakon".to_owned(),
            None => panic!("{name} comes from nowhere that is known here"),
        };
        (name.to_owned(), value)
    });
    let all: Vec<_> = all.collect();
    assert!(all.len() >= 6, "{all:?}");
    all
}

/// The command of a probe, as the container would run it.
fn run_probe(probe: &str, manager: &Manager, folder: &Folder, name: &str) -> Output {
    let text = manifest("statefulset.yaml");
    let (_, rest) = text.split_once(&format!("{probe}:")).expect("it is there");
    let (_, rest) = rest.split_once("command: [").expect("it is a command");
    let (command, _) = rest.split_once(']').expect("it ends");
    let words: Vec<_> = command.split(", ").collect();
    assert_eq!(words[0], "/usr/local/bin/ostrakon");
    let mut probe = ostrakon(&words[1..]);
    for (name, value) in environment() {
        probe.env(name, value);
    }
    probe.env("OSTRAKON_ADMIN", &manager.admin);
    probe.env("OSTRAKON_CERTS", folder.certs());
    probe.env("OSTRAKON_AS", name);
    probe.output().expect("the command was built for this test")
}

fn manifest(file: &str) -> String {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../deploy/kubernetes/manager"
    );
    fs::read_to_string(Path::new(folder).join(file)).expect(file)
}

/// The command with nothing of ours in its environment.
fn ostrakon(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OSTRAKON_") {
            command.env_remove(name);
        }
    }
    command
}

/// A folder for the files of one test. What an earlier run has left there is replaced.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("manifests-{test}"));
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("it is ours");
        }
        fs::create_dir_all(&folder).expect("a folder for tests can be made");
        Self(folder)
    }

    fn certs(&self) -> PathBuf {
        self.0.join("certs")
    }

    /// The settings in the ConfigMap, as the file that the container sees.
    fn settings(&self) -> PathBuf {
        let text = manifest("config.yaml");
        let (_, block) = text.split_once("  manager.toml: |\n").expect("they begin");
        let lines = block.lines().map(|line| match line.trim() {
            "" => "",
            _ => line.strip_prefix("    ").expect("it is part of them"),
        });
        let file = self.0.join("manager.toml");
        fs::write(&file, lines.collect::<Vec<_>>().join("\n")).expect("it can be written");
        file
    }
}

/// A manager with the settings of the ConfigMap, except for what only a cluster has: its addresses, PostgreSQL and the API server.
struct Manager {
    process: Child,
    admin: String,
}

impl Manager {
    fn start(folder: &Folder, settings: &Path) -> Self {
        let mut command = ostrakon(&["manager"]);
        for (name, value) in environment() {
            command.env(name, value);
        }
        let mut process = command
            .env("OSTRAKON_CONFIG", settings)
            .env("OSTRAKON_TLS_DIR", folder.certs())
            .env("OSTRAKON_LISTEN", "127.0.0.1:0")
            .env("OSTRAKON_ADMIN_LISTEN", "127.0.0.1:0")
            .env("OSTRAKON_STORAGE", "memory:")
            .env("OSTRAKON_HEALTH", "ping")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command was built for this test");
        let mut said = String::new();
        let out = process.stdout.take().expect("it is piped");
        BufReader::new(out)
            .read_line(&mut said)
            .expect("it is text");
        let admin = said
            .split("; ")
            .find_map(|part| part.strip_prefix("dashboard and admin API at "));
        let admin = admin.unwrap_or_default().to_owned();
        let manager = Self { process, admin };
        assert!(manager.admin.starts_with("https://"), "{said:?}");
        manager
    }

    /// Ends it as Kubernetes does.
    fn end(&mut self) {
        let id = self.process.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.is_ok_and(|told| told.success()));
        let status = self.process.wait().expect("it is ours to wait for");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
