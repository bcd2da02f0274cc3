//! The example serves over plain HTTP, and goes in good order when it is told to: two nodes in one process, and a node and a client as
//! processes of their own, with a manager and certificates, as the manifests for Kubernetes run them.

#[path = "runs/collector.rs"]
mod collector;
#[path = "runs/service.rs"]
mod service;

use std::{fs, path::Path};

use ostrakon_manager::{Manager, ManagerSettings};
use ostrakon_tls::{
    Files, Identity, Role, Security,
    make::{Authority, Validity},
};

use crate::{
    collector::Collector,
    service::{Service, answer, ask, ask_with},
};

#[test]
fn what_is_counted_on_one_node_is_read_on_the_other() {
    let mut service = Service::start(&[]);
    let [one, two] = [service.next_address(), service.next_address()];
    assert_ne!(one, two);
    for expected in ["1", "2", "3"] {
        assert_eq!(ask(&one, "POST", "/counters/visits"), answer(200, expected));
    }
    assert_eq!(ask(&two, "GET", "/counters/visits"), answer(200, "3"));
    assert_eq!(ask(&two, "POST", "/counters/visits"), answer(200, "4"));
    assert_eq!(ask(&one, "GET", "/counters/others"), answer(200, "0"));
    for node in [&one, &two] {
        assert_eq!(ask(node, "GET", "/ready"), answer(200, ""));
        assert_eq!(ask(node, "GET", "/live"), answer(200, "ok"));
    }
    let too_long = format!("/counters/{}", "x".repeat(10_000));
    let (status, why) = ask(&one, "GET", &too_long);
    assert_eq!(status, 400, "{why}");

    let rest = service.end();
    for node in ["node-1", "node-2"] {
        let line = format!("{node} has left");
        assert!(rest.contains(&line), "{rest:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_reaches_the_counters_of_a_node_through_tls() {
    let certs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("http-counter-certs");
    issue(&certs);
    let manager = Manager::start(ManagerSettings {
        name: "manager-0".to_owned(),
        cluster: "counter".to_owned(),
        security: Security::tls(Files::in_dir(&certs, "manager-0")).expect("they were just made"),
        ..ManagerSettings::default()
    });
    let manager = manager.await.expect("nothing keeps it from starting");
    let managers = manager.address().expect("it listens").to_string();
    let start = |name: &str, role: &str| {
        let files = Files::in_dir(&certs, name);
        let [ca, certificate, key] = [&files.ca, &files.certificate, &files.key];
        Service::start(&[
            ("MANAGERS", &managers),
            ("POD_NAME", name),
            ("ROLE", role),
            ("CLUSTER", "counter"),
            ("VERSION", "1.0.0"),
            ("HTTP_LISTEN", "127.0.0.1:0"),
            ("NODE_LISTEN", "127.0.0.1:0"),
            ("TLS_CA", &ca.to_string_lossy()),
            ("TLS_CERTIFICATE", &certificate.to_string_lossy()),
            ("TLS_KEY", &key.to_string_lossy()),
        ])
    };

    let mut node = start("counter-0", "node");
    let at_node = node.next_address();
    let mut web = start("counter-web-x7k2p", "client");
    let at_web = web.next_address();
    assert_eq!(ask(&at_web, "POST", "/counters/visits"), answer(200, "1"));
    assert_eq!(ask(&at_node, "GET", "/counters/visits"), answer(200, "1"));
    assert_eq!(ask(&at_web, "GET", "/ready"), answer(200, ""));

    assert_eq!(web.end(), ["counter-web-x7k2p has left"]);
    assert_eq!(node.end(), ["counter-0 has left"]);
    manager.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_one_trace_through_two_processes() {
    let collector = Collector::start().await;
    let manager = Manager::start(ManagerSettings::default()).await;
    let manager = manager.expect("nothing keeps it from starting");
    let managers = manager.address().expect("it listens").to_string();
    let start = |name: &str, role: &str| {
        Service::start(&[
            ("MANAGERS", &managers),
            ("POD_NAME", name),
            ("ROLE", role),
            ("HTTP_LISTEN", "127.0.0.1:0"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                &format!("service.instance.id={name}"),
            ),
        ])
    };
    let mut node = start("traced-node", "node");
    node.next_address();
    let mut web = start("traced-web", "client");
    let outside = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let counted = ask_with(&web.next_address(), "POST", "/counters/visits", outside);
    assert_eq!(counted, answer(200, "1"));
    // They send what is left when they go.
    web.end();
    node.end();
    manager.stop().await;

    let spans = collector.spans_of("4bf92f3577b34da6a3ce929d0e0e4736");
    let [request, ask, handle] = spans.as_slice() else {
        panic!("three spans: {spans:#?}");
    };
    assert_eq!(request.parent, "00f067aa0ba902b7");
    let named = |span: &collector::Seen| format!("{}: {}", span.process, span.name);
    assert_eq!(named(request), "traced-web: POST /counters/visits");
    assert_eq!(named(ask), "traced-web: ask counter");
    assert_eq!(named(handle), "traced-node: handle counter");
    for (outer, inner) in [(request, ask), (ask, handle)] {
        assert_eq!(inner.parent, outer.id);
        // What is handled ends a little later than the ask: when it has been answered.
        let within = outer.began..=outer.ended;
        assert!(within.contains(&inner.began), "{spans:#?}");
        assert!(inner.began <= inner.ended, "{spans:#?}");
    }
}

/// Makes the certificates of a manager, a node and a client.
fn issue(certs: &Path) {
    fs::create_dir_all(certs).expect("a folder for tests can be made");
    let year = || Validity::for_the_next(Validity::OF_LEAF);
    let authority = Authority::new("counter", year()).expect("an authority");
    let put = |file: &Path, text: &str| fs::write(file, text).expect("it can be written");
    for (role, name) in [
        (Role::Manager, "manager-0"),
        (Role::Node, "counter-0"),
        (Role::Client, "counter-web-x7k2p"),
    ] {
        let identity = Identity::new("counter", role, name).expect("a good name");
        let issued = authority.issue(&identity, year()).expect("it is ours");
        let files = Files::in_dir(certs, name);
        put(&files.ca, authority.cert_pem());
        put(&files.certificate, &issued.cert_pem);
        put(&files.key, &issued.key_pem);
    }
}
