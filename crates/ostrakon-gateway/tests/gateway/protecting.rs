//! Who is let in, and on which addresses.

use std::{fs, path::PathBuf};

use ostrakon::{Node, entity};
use ostrakon_gateway::{Gateway, GatewayError};
use serde_json::json;

use crate::{
    account::Account,
    house::{House, TOKEN, bare_curl, curl, exposing, finished, token},
};

#[tokio::test]
async fn nobody_is_served_without_the_token() {
    let house = House::new().await;
    let wrong = [
        None,
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(format!("Bearer {TOKEN}x")),
        Some(format!("Bearer {}", &TOKEN[1..])),
        Some(format!("Bearer {}", TOKEN.to_uppercase())),
        Some(format!("Basic {TOKEN}")),
        Some(TOKEN.to_owned()),
    ];
    for path in [
        "/v1/entities/account/alice/deposit",
        "/v1/entities",
        "/openapi.json",
        "/nothing",
    ] {
        for header in &wrong {
            let header = header
                .as_ref()
                .map(|value| format!("Authorization: {value}"));
            let url = house.url(path);
            let mut arguments = vec!["-X", "POST", "-d", r#"{"amount": 1}"#];
            arguments.extend(header.iter().flat_map(|header| ["-H", header]));
            arguments.push(&url);
            let reply = finished(bare_curl(&arguments)).await;
            assert!(
                reply.refused(401).contains("Authorization: Bearer"),
                "{header:?}"
            );
            assert!(reply.head.contains("www-authenticate: bearer"), "{reply:?}");
            assert!(!reply.body.contains(TOKEN));
        }
    }
    assert_eq!(
        house.call("account/alice/balance", "").await.value(),
        json!(0)
    );
}

#[tokio::test]
async fn no_other_site_is_let_in() {
    let house = House::new().await;
    let headers = [
        "-H",
        "Origin: https://elsewhere.example",
        "-H",
        "Access-Control-Request-Method: POST",
    ];
    let url = house.url("/v1/entities/account/alice/balance");
    let preflight = [&["-X", "OPTIONS"][..], &headers, &[&url]].concat();
    let answers = [
        finished(bare_curl(&preflight)).await,
        house.call_with("account/alice/balance", "", &headers).await,
    ];
    for reply in answers {
        assert!(!reply.head.contains("access-control"), "{reply:?}");
        assert!(reply.head.contains("nosniff"), "{reply:?}");
    }
}

#[tokio::test]
async fn plain_text_goes_beyond_this_host_only_when_it_is_said() {
    let house = House::new().await;
    let refused = exposing(&house.node).serve("0.0.0.0:0").await;
    assert!(matches!(refused, Err(GatewayError::Unprotected { .. })));
    let served = exposing(&house.node)
        .plaintext_beyond_this_host()
        .serve("0.0.0.0:0")
        .await
        .unwrap();
    let url = format!("http://127.0.0.1:{}/v1/entities", served.address().port());
    finished(curl(&[&url])).await.value();
    let taken = exposing(&house.node)
        .serve(&house.address().to_string())
        .await;
    assert!(matches!(taken, Err(GatewayError::Listen { .. })));
}

#[tokio::test]
async fn with_a_certificate_it_speaks_https() {
    let house = House::new().await;
    let folder = Folder::new("https");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.0.join("chain.pem"), folder.0.join("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let gateway = exposing(&house.node)
        .tls(&certificate, &key)
        .serve("0.0.0.0:0")
        .await
        .unwrap();
    let port = gateway.address().port();
    let resolve = format!("localhost:{port}:127.0.0.1");
    let url = format!("https://localhost:{port}/v1/entities/account/alice/deposit");
    let trusting = [
        "--cacert",
        certificate.to_str().unwrap(),
        "--resolve",
        &resolve,
        "-d",
        r#"{"amount": 3}"#,
        &url,
    ];
    assert_eq!(finished(curl(&trusting)).await.value(), json!(3));

    let plain = format!("http://127.0.0.1:{port}/v1/entities");
    let output = curl(&[&plain]).wait_with_output().await.unwrap();
    assert!(!output.status.success(), "plain text is not answered");

    let nowhere = folder.0.join("nowhere.pem");
    for (certificate, key) in [
        (&nowhere, &key),
        (&certificate, &nowhere),
        (&key, &key),
        (&certificate, &certificate),
    ] {
        let refused = exposing(&house.node)
            .tls(certificate, key)
            .serve("127.0.0.1:0")
            .await;
        assert!(
            matches!(refused, Err(GatewayError::Certificate { .. })),
            "{certificate:?} {key:?}"
        );
    }
}

/// A folder that is gone when the test has passed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("gateway-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }
}

#[derive(Default)]
struct Stranger;

#[entity(kind = "stranger")]
impl Stranger {
    async fn hello(&self) {}
}

#[tokio::test]
async fn only_what_is_exposed_is_there() {
    let node = Node::builder("node-1")
        .host::<Account>()
        .host::<Stranger>()
        .start()
        .await
        .unwrap();
    let gateway = Gateway::builder(node.clone(), token())
        .expose_only::<Account>(["balance"])
        .serve("127.0.0.1:0")
        .await
        .unwrap();
    let post = async |path: &str| {
        let url = format!("http://{}/v1/entities/{path}", gateway.address());
        finished(curl(&["-X", "POST", &url])).await
    };
    post("account/alice/balance").await.value();
    let text = post("account/alice/deposit").await.refused(404);
    assert!(text.ends_with("choose one of: balance"), "{text}");
    let text = post("stranger/x/hello").await.refused(404);
    assert!(text.ends_with("choose one of: account"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_exposed_is_said_at_the_start() {
    let node = Node::builder("node-1")
        .host::<Account>()
        .start()
        .await
        .unwrap();
    let nothing = Gateway::builder(node.clone(), token())
        .serve("127.0.0.1:0")
        .await;
    assert!(matches!(nothing, Err(GatewayError::NothingExposed)));
    let unknown = Gateway::builder(node.clone(), token())
        .expose::<Stranger>()
        .serve("127.0.0.1:0")
        .await;
    assert!(matches!(
        unknown,
        Err(GatewayError::UnknownKind { kind: "stranger" })
    ));
    let missing = Gateway::builder(node, token())
        .expose_only::<Account>(["blance"])
        .serve("127.0.0.1:0")
        .await;
    let text = missing.err().unwrap().to_string();
    assert!(
        text.contains("`blance`") && text.contains("deposit, withdraw, balance"),
        "{text}"
    );
}
