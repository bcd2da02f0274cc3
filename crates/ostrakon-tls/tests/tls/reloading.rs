//! Certificates are renewed while connections are open and others are made.

use std::{
    fs,
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

use ostrakon_tls::{Files, Reloaded, Role, Tls, TlsError, UtcTime, make::Authority, watch};
use tokio::sync::mpsc;
use tracing_subscriber::fmt::MakeWriter;

use crate::lab::{Lab, authority, first_word, handshake, issue, say, until_yesterday, year};

struct Renewal {
    lab: Lab,
    authority: Authority,
    files: Files,
    tls: Arc<Tls>,
}

/// A node with a certificate for `days`.
fn node_for(days: u64) -> Renewal {
    let (lab, authority) = (Lab::new(), authority("prod"));
    let mut validity = year();
    validity.until = UtcTime::now().plus(Duration::from_secs(days * 86_400));
    let issued = issue(&authority, Role::Node, "node-1", validity);
    let files = lab.write(authority.cert_pem(), "node-1", &issued);
    Renewal {
        tls: Arc::new(Tls::load(files.clone()).unwrap()),
        lab,
        authority,
        files,
    }
}

impl Renewal {
    /// Puts a certificate for a year in the place of the former.
    fn renew(&self) -> UtcTime {
        let issued = issue(&self.authority, Role::Node, "node-1", year());
        self.lab.write(self.authority.cert_pem(), "node-1", &issued);
        issued.expires_at
    }
}

#[tokio::test]
async fn new_connections_use_the_new_certificate_and_open_ones_go_on() {
    let node = node_for(1);
    let client = node.lab.tls(&node.authority, Role::Client, "shop");
    let (before, connected) = handshake(&node.tls, &client).await;
    let (mut before, mut connected) = (before.unwrap().0, connected.unwrap().0);
    let shown_before = connected.get_ref().1.peer_certificates().unwrap().to_vec();

    let expiry = node.renew();
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Changed);
    assert_eq!(node.tls.expires_at(), expiry);
    let (_, after) = handshake(&node.tls, &client).await;
    let after = after.unwrap().0;
    let shown_after = after.get_ref().1.peer_certificates().unwrap();
    assert_ne!(shown_before, shown_after);

    say(&mut before, 7).await;
    assert_eq!(first_word(&mut connected).await.unwrap(), 7);
}

#[test]
fn files_that_did_not_change_are_the_same() {
    let node = node_for(1);
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Same);
    node.renew();
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Changed);
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Same);
}

#[tokio::test]
async fn a_bad_file_leaves_the_former_certificate_in_use() {
    let node = node_for(1);
    let client = node.lab.tls(&node.authority, Role::Client, "shop");
    let expiry = node.tls.expires_at();
    let good = fs::read(&node.files.certificate).unwrap();
    let expired = issue(&node.authority, Role::Node, "node-1", until_yesterday());
    let foreign = issue(&authority("prod"), Role::Node, "node-1", year());
    for bad in ["", "half a fi", &expired.cert_pem, &foreign.cert_pem] {
        fs::write(&node.files.certificate, bad).unwrap();
        node.tls.reload().unwrap_err();
        assert_eq!(node.tls.expires_at(), expiry);
        let (accepted, _) = handshake(&node.tls, &client).await;
        assert_eq!(accepted.unwrap().1.name(), "shop");
    }
    fs::remove_file(&node.files.certificate).unwrap();
    let gone = node.tls.reload();
    assert!(matches!(gone, Err(TlsError::Missing { .. })), "{gone:?}");
    fs::write(&node.files.certificate, good).unwrap();
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Same);
}

#[test]
fn a_process_keeps_its_identity() {
    let node = node_for(1);
    let other = issue(&node.authority, Role::Node, "node-2", year());
    node.lab.write(node.authority.cert_pem(), "node-1", &other);
    assert_eq!(
        node.tls.reload().unwrap_err().to_string(),
        format!(
            "{} stands for ostrakon://prod/node/node-2, but this process runs as ostrakon://prod/node/node-1: \
             restore the file, or restart the process",
            node.files.certificate.display()
        )
    );
    assert_eq!(node.tls.identity().name(), "node-1");
}

#[tokio::test]
async fn an_authority_that_is_no_longer_trusted_is_refused_after_a_reload() {
    let node = node_for(1);
    let (elsewhere, replaced) = (Lab::new(), authority("prod"));
    let both = format!("{}{}", node.authority.cert_pem(), replaced.cert_pem());
    let client = issue(&replaced, Role::Client, "shop", year());
    let client = Tls::load(elsewhere.write(&both, "shop", &client)).unwrap();

    fs::write(&node.files.ca, &both).unwrap();
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Changed);
    let (accepted, _) = handshake(&node.tls, &client).await;
    assert_eq!(accepted.unwrap().1.name(), "shop");

    fs::write(&node.files.ca, node.authority.cert_pem()).unwrap();
    assert_eq!(node.tls.reload().unwrap(), Reloaded::Changed);
    let (accepted, _) = handshake(&node.tls, &client).await;
    assert!(
        matches!(accepted, Err(TlsError::BadPeerCertificate { .. })),
        "{accepted:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn watching_takes_up_a_renewal_and_tells_each_trouble_once() {
    let node = node_for(1);
    let (log, mut lines) = Log::new();
    let subscriber = tracing_subscriber::fmt().with_writer(log).with_ansi(false);
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let watching = tokio::spawn(watch(Arc::clone(&node.tls), Duration::from_secs(10)));

    fs::write(&node.files.key, "not a key").unwrap();
    let line = lines.recv().await.unwrap();
    assert!(line.contains("ERROR"), "{line}");
    assert!(line.contains("PRIVATE KEY"), "{line}");
    assert!(line.contains("the former certificate stays"), "{line}");

    // The clock is not real: many looks pass in no time, and all of them find the same trouble.
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert!(lines.try_recv().is_err());

    fs::remove_file(&node.files.ca).unwrap();
    let line = lines.recv().await.unwrap();
    assert!(line.contains("ca.pem does not exist"), "{line}");

    let expiry = node.renew();
    let mut line = lines.recv().await.unwrap();
    while line.contains("ERROR") {
        // A look may have fallen between two of the files.
        line = lines.recv().await.unwrap();
    }
    assert!(line.contains("INFO"), "{line}");
    assert!(line.contains(&format!("expires_at={expiry}")), "{line}");
    assert_eq!(node.tls.expires_at(), expiry);
    assert!(!watching.is_finished());
    watching.abort();
}

/// Hands each line of the log to the test.
#[derive(Clone)]
struct Log(Arc<Mutex<mpsc::UnboundedSender<String>>>);

impl Log {
    fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (sender, lines) = mpsc::unbounded_channel();
        (Self(Arc::new(Mutex::new(sender))), lines)
    }
}

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line).into_owned();
        // The last lines may be written when the test no longer reads.
        let _ = self.0.lock().unwrap().send(text);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
