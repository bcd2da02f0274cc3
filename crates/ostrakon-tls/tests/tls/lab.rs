//! What the tests have in common: a folder of certificates, and the shortest way to a connection.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ostrakon_tls::{
    Files, Identity, Role, Tls, TlsError, UtcTime,
    make::{Authority, Issued, Validity},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::{client, server};

/// A folder of its own for each test, gone when the test has passed.
pub(crate) struct Lab {
    dir: PathBuf,
}

impl Lab {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = format!("lab-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(dir);
        fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    /// Where the files of `name` are, or would be.
    pub(crate) fn files(&self, name: &str) -> Files {
        Files::in_dir(&self.dir, name)
    }

    /// Writes all three files for `name`.
    pub(crate) fn write(&self, ca_pem: &str, name: &str, issued: &Issued) -> Files {
        let files = self.files(name);
        fs::write(&files.ca, ca_pem).unwrap();
        fs::write(&files.certificate, &issued.cert_pem).unwrap();
        fs::write(&files.key, &issued.key_pem).unwrap();
        files
    }

    /// What somebody with a good certificate has.
    pub(crate) fn tls(&self, authority: &Authority, role: Role, name: &str) -> Tls {
        let issued = issue(authority, role, name, year());
        Tls::load(self.write(authority.cert_pem(), name, &issued)).unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.dir).unwrap();
        }
    }
}

pub(crate) fn authority(cluster: &str) -> Authority {
    Authority::new(cluster, year()).unwrap()
}

pub(crate) fn issue(authority: &Authority, role: Role, name: &str, validity: Validity) -> Issued {
    let identity = Identity::new(authority.cluster(), role, name).unwrap();
    authority.issue(&identity, validity).unwrap()
}

pub(crate) fn year() -> Validity {
    Validity::for_the_next(Validity::OF_LEAF)
}

pub(crate) fn until_yesterday() -> Validity {
    let now = UtcTime::now();
    Validity {
        from: now.minus(DAY * 2),
        until: now.minus(DAY),
    }
}

pub(crate) fn from_tomorrow() -> Validity {
    let now = UtcTime::now();
    Validity {
        from: now.plus(DAY),
        until: now.plus(DAY * 2),
    }
}

pub(crate) type Accepted = Result<(server::TlsStream<DuplexStream>, Identity), TlsError>;
pub(crate) type Connected = Result<(client::TlsStream<DuplexStream>, Identity), TlsError>;

/// Connects `client` with `server`, whatever comes of it.
pub(crate) async fn handshake(server: &Tls, client: &Tls) -> (Accepted, Connected) {
    let (theirs, ours) = duplex(16 * 1024);
    tokio::join!(server.accept(theirs), client.connect(ours))
}

/// What somebody gets to hear who waits for the peer's first word.
pub(crate) async fn first_word<S>(stream: &mut S) -> Result<u8, TlsError>
where
    S: AsyncReadExt + Unpin,
{
    stream.read_u8().await.map_err(TlsError::from)
}

pub(crate) async fn say<S>(stream: &mut S, word: u8)
where
    S: AsyncWriteExt + Unpin,
{
    stream.write_u8(word).await.unwrap();
    stream.flush().await.unwrap();
}

const DAY: Duration = Duration::from_secs(86_400);
