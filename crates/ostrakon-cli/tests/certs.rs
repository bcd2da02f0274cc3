//! `ostrakon certs` as a user runs it: the built binary, what it says, and whether its files make connections.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

use ostrakon_tls::{Files, Identity, Role, Tls, TlsError};
use tokio::io::duplex;

/// A folder to work in, gone when the test has passed.
struct Desk(PathBuf);

impl Desk {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = format!("certs-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    /// One with an authority of cluster `prod` in its folder `certs`.
    fn with_authority() -> Self {
        let desk = Self::new();
        desk.does("ca --cluster prod");
        desk
    }

    fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ostrakon"))
            .arg("certs")
            .args(arguments.split(' '))
            .current_dir(&self.0)
            .output()
            .expect("the binary was built for this test")
    }

    /// Runs what must succeed; returns what it says.
    fn does(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {stderr}");
        assert_eq!(stderr, "", "{arguments}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs what must fail with `code`; returns the complaint.
    fn refuses(&self, arguments: &str, code: i32) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments}");
        stderr
    }

    fn file(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap()
    }

    fn files(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.file(dir)).unwrap();
        let mut names = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        names.sort();
        names
    }

    fn tls(&self, name: &str) -> Result<Tls, TlsError> {
        Tls::load(Files::in_dir(self.file("certs"), name))
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }
}

/// Who the server sees and who the client sees.
async fn meet(server: &Tls, client: &Tls) -> (Identity, Identity) {
    let (theirs, ours) = duplex(16 * 1024);
    let (accepted, connected) = tokio::join!(server.accept(theirs), client.connect(ours));
    (accepted.unwrap().1, connected.unwrap().1)
}

#[tokio::test]
async fn the_sequence_of_the_help_gives_a_cluster_that_can_talk() {
    let desk = Desk::new();
    let help = desk.does("--help");
    let commands = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ostrakon certs "))
        .filter(|command| !command.starts_with('<'))
        .collect::<Vec<_>>();
    assert_eq!(commands.len(), 5, "{help}");
    for command in commands {
        desk.does(command);
    }
    let node = desk.tls("node-1").unwrap();
    for (name, role) in [
        ("node-2", Role::Node),
        ("shop", Role::Client),
        ("alice", Role::Admin),
    ] {
        let (client, server) = meet(&node, &desk.tls(name).unwrap()).await;
        assert_eq!(client, Identity::new("prod", role, name).unwrap());
        assert_eq!(server, node.identity());
    }
}

#[test]
fn an_authority_says_what_it_wrote_and_what_comes_next() {
    let desk = Desk::new();
    let said = desk.does("ca --cluster prod");
    assert_eq!(desk.files("certs"), ["ca.key", "ca.pem"]);
    for told in [
        "certs/ca.pem",
        "certs/ca.key",
        "cluster prod",
        "Valid until ",
        "Next: ostrakon certs node node-1\n",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let said = desk.does("ca --cluster prod --dir a/b");
    assert!(
        said.contains("Next: ostrakon certs node node-1 --dir a/b\n"),
        "{said}"
    );
    desk.does("node node-1 --dir a/b");
}

#[test]
fn a_certificate_says_whom_it_is_for_and_what_comes_next() {
    let desk = Desk::with_authority();
    let said = desk.does("node 10.0.0.1:7000");
    for told in [
        "Wrote certs/10.0.0.1:7000.pem",
        "Wrote certs/10.0.0.1:7000.key",
        "ostrakon://prod/node/10.0.0.1%3A7000",
        "Next: copy both files and certs/ca.pem to where 10.0.0.1:7000 runs",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let tls = desk.tls("10.0.0.1:7000").unwrap();
    assert!(
        said.contains(&format!("Valid until {}.", tls.expires_at())),
        "{said}"
    );
    assert_eq!(
        desk.files("certs"),
        ["10.0.0.1:7000.key", "10.0.0.1:7000.pem", "ca.key", "ca.pem"]
    );
}

#[cfg(unix)]
#[test]
fn keys_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with_authority();
    desk.does("node node-1");
    let mode = |path| desk.file(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("certs"), 0o700);
    assert_eq!(mode("certs/ca.key"), 0o600);
    assert_eq!(mode("certs/node-1.key"), 0o600);
    for path in ["certs/ca.pem", "certs/node-1.pem"] {
        assert_eq!(mode(path) & 0o133, 0, "{path}");
    }

    let everybody = fs::Permissions::from_mode(0o666);
    fs::set_permissions(desk.file("certs/node-1.key"), everybody).unwrap();
    desk.does("node node-1");
    assert_eq!(mode("certs/node-1.key"), 0o600, "also after a renewal");
}

#[test]
fn a_second_authority_is_refused_unless_forced() {
    let desk = Desk::with_authority();
    desk.does("node node-1");
    let before = (desk.read("certs/ca.pem"), desk.read("certs/ca.key"));
    let complaint = desk.refuses("ca --cluster prod", 1);
    for told in [
        "certs/ca.pem exists already",
        "--force",
        "issue all of them again",
    ] {
        assert!(complaint.contains(told), "{told}: {complaint}");
    }
    let after = (desk.read("certs/ca.pem"), desk.read("certs/ca.key"));
    assert!(before == after, "nothing was touched");
    for kept in ["certs/ca.key", "certs/ca.pem"] {
        let aside = desk.file("aside");
        fs::rename(desk.file(kept), &aside).unwrap();
        desk.refuses("ca --cluster prod", 1);
        fs::rename(&aside, desk.file(kept)).unwrap();
    }
    desk.tls("node-1").unwrap();

    let said = desk.does("ca --cluster prod --force");
    assert!(
        said.contains("What the former authority issued is refused"),
        "{said}"
    );
    let refused = desk.tls("node-1");
    assert!(
        matches!(refused, Err(TlsError::NotSignedByAuthority { .. })),
        "{refused:?}"
    );
    desk.does("node node-1");
    desk.tls("node-1").unwrap();
}

#[tokio::test]
async fn issuing_again_renews() {
    let desk = Desk::with_authority();
    desk.does("node node-1 --days 1");
    desk.does("client shop");
    let node = desk.tls("node-1").unwrap();
    let day = node.expires_at();

    let said = desk.does("node node-1");
    assert!(said.contains("Renewed certs/node-1.pem"), "{said}");
    assert!(said.contains("without a restart"), "{said}");
    node.reload().unwrap();
    assert!(node.expires_at() > day);
    let (client, _) = meet(&node, &desk.tls("shop").unwrap()).await;
    assert_eq!(client.name(), "shop");
    assert_eq!(desk.files("certs").len(), 6, "nothing is left lying about");
}

#[test]
fn a_file_of_somebody_else_is_not_replaced() {
    let desk = Desk::with_authority();
    desk.does("node a");
    let before = desk.read("certs/a.pem");
    let complaint = desk.refuses("client a", 1);
    assert!(
        complaint.contains(
            "certs/a.pem stands for ostrakon://prod/node/a, not for ostrakon://prod/client/a"
        ),
        "{complaint}"
    );
    assert_eq!(desk.read("certs/a.pem"), before);

    fs::write(desk.file("certs/b.pem"), "my own file").unwrap();
    let complaint = desk.refuses("node b", 1);
    assert!(
        complaint.contains("certs/b.pem is in the way"),
        "{complaint}"
    );
    assert_eq!(desk.read("certs/b.pem"), "my own file");

    fs::write(desk.file("certs/c.key"), "my own key").unwrap();
    let complaint = desk.refuses("node c", 1);
    assert!(complaint.contains("certs/c.key exists"), "{complaint}");
    assert_eq!(desk.read("certs/c.key"), "my own key");
}

#[test]
fn a_certificate_that_would_outlive_its_authority_ends_with_it() {
    let desk = Desk::new();
    desk.does("ca --cluster prod --days 10");
    let said = desk.does("node node-1");
    assert!(said.contains("when its authority ends"), "{said}");
    let said = desk.does("node node-2 --days 9");
    assert!(!said.contains("authority ends"), "{said}");
}

#[test]
fn without_an_authority_the_way_to_one_is_shown() {
    let desk = Desk::new();
    let complaint = desk.refuses("node node-1", 1);
    for told in [
        "certs/ca.pem does not exist",
        "`ostrakon certs ca --cluster NAME`",
    ] {
        assert!(complaint.contains(told), "{told}: {complaint}");
    }
    assert!(!desk.file("certs").exists(), "nothing was made");
    let complaint = desk.refuses("node node-1 --dir x", 1);
    assert!(
        complaint.contains("`ostrakon certs ca --cluster NAME --dir x`"),
        "{complaint}"
    );
    desk.does("ca --cluster prod");
    fs::remove_file(desk.file("certs/ca.key")).unwrap();
    let complaint = desk.refuses("node node-1", 1);
    assert!(
        complaint.contains("certs/ca.key does not exist"),
        "{complaint}"
    );
}

#[test]
fn a_spoilt_authority_is_named() {
    let desk = Desk::with_authority();
    desk.does("ca --cluster prod --dir other");
    fs::copy(desk.file("other/ca.key"), desk.file("certs/ca.key")).unwrap();
    let complaint = desk.refuses("node node-1", 1);
    for told in ["certs/ca.pem", "certs/ca.key", "does not belong"] {
        assert!(complaint.contains(told), "{told}: {complaint}");
    }
    fs::write(desk.file("certs/ca.pem"), "nonsense").unwrap();
    let complaint = desk.refuses("node node-1", 1);
    assert!(complaint.contains("no PEM section"), "{complaint}");
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let desk = Desk::new();
    fs::write(desk.file("certs"), "a file in the place of the folder").unwrap();
    let complaint = desk.refuses("ca --cluster prod", 1);
    assert!(
        complaint.contains("cannot look into the folder certs") && complaint.contains("--dir"),
        "{complaint}"
    );
    let complaint = desk.refuses("node node-1", 1);
    assert!(complaint.contains("cannot look into"), "{complaint}");
    fs::remove_file(desk.file("certs")).unwrap();
    fs::create_dir_all(desk.file("certs/.ca.key.new")).unwrap();
    let complaint = desk.refuses("ca --cluster prod", 1);
    assert!(
        complaint.contains("cannot write certs/ca.key"),
        "{complaint}"
    );
}

#[test]
fn arguments_without_meaning_are_refused_with_help() {
    let desk = Desk::with_authority();
    let before = desk.files("certs");
    for (arguments, help) in [
        ("ca", "--cluster"),
        ("ca --cluster a/b", "not a cluster name"),
        ("ca --cluster prod --days 0", "1..=36500"),
        ("node", "<NAME>"),
        ("node a/b", "without spaces and '/'"),
        ("node ../a", "without spaces and '/'"),
        ("node ca", "authority's own files"),
        ("node CA", "authority's own files"),
        ("node é", "visible ascii"),
        ("client a --days 0", "1..=36500"),
        ("admin a --days 36501", "1..=36500"),
        ("admin a --days soon", "invalid"),
        ("nodes a", "node"),
    ] {
        let complaint = desk.refuses(arguments, 2);
        assert!(complaint.contains(help), "{arguments}: {complaint}");
    }
    assert_eq!(desk.files("certs"), before);
}
