//! With certificates.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use ostrakon_admin::AdminSettings;
use ostrakon_tls::{
    Files, Identity, Role, Security,
    make::{Authority, Validity},
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::house::{House, Reply, TOKEN, read_reply, request, with_token};

/// A folder of certificates, gone when the test has passed.
struct Folder {
    dir: PathBuf,
    authority: Authority,
}

impl Folder {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("admin-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let authority = Authority::new("ostrakon", Self::day()).unwrap();
        fs::write(dir.join("ca.pem"), authority.cert_pem()).unwrap();
        Self { dir, authority }
    }

    fn day() -> Validity {
        Validity::for_the_next(Duration::from_secs(86_400))
    }

    fn security(&self, role: Role, name: &str) -> Security {
        let identity = Identity::new("ostrakon", role, name).unwrap();
        let issued = self.authority.issue(&identity, Self::day()).unwrap();
        let files = Files::in_dir(&self.dir, name);
        fs::write(&files.certificate, &issued.cert_pem).unwrap();
        fs::write(&files.key, &issued.key_pem).unwrap();
        Security::tls(files).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.dir).unwrap();
        }
    }
}

async fn send(house: &House, security: &Security, request: &str) -> Reply {
    let stream = TcpStream::connect(house.address()).await.unwrap();
    let mut secured = security.connect(stream).await.unwrap();
    secured.wire.write_all(request.as_bytes()).await.unwrap();
    read_reply(&mut secured.wire).await
}

#[tokio::test]
async fn an_admin_by_certificate_may_change_things_and_others_may_look() {
    let folder = Folder::new("roles");
    let settings = AdminSettings {
        security: folder.security(Role::Manager, "manager"),
        token: None,
        ..with_token()
    };
    let house = House::with(settings).await;
    let (look, change) = (
        request("GET", "/v1/status", &[], ""),
        request("POST", "/v1/rebalancing/freeze", &[], ""),
    );
    for role in [Role::Client, Role::Node] {
        let security = folder.security(role, role.as_str());
        assert_eq!(send(&house, &security, &look).await.status, 200);
        send(&house, &security, &change).await.problem(403);
    }
    let admin = folder.security(Role::Admin, "alice");
    assert_eq!(send(&house, &admin, &look).await.status, 200);
    assert_eq!(send(&house, &admin, &change).await.status, 202);
}

#[tokio::test]
async fn with_certificates_the_token_still_counts_and_plain_text_does_not() {
    let folder = Folder::new("token");
    let settings = AdminSettings {
        security: folder.security(Role::Manager, "manager"),
        ..with_token()
    };
    let house = House::with(settings).await;
    let client = folder.security(Role::Client, "client");
    let bearer = format!("Bearer {TOKEN}");
    let change = request(
        "POST",
        "/v1/rebalancing/freeze",
        &[("Authorization", &bearer)],
        "",
    );
    assert_eq!(send(&house, &client, &change).await.status, 202);

    let mut stream = TcpStream::connect(house.address()).await.unwrap();
    stream.write_all(change.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}
