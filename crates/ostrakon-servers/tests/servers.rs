//! Every server starts, survives what tests do to it, and goes when it is dropped.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use ostrakon_servers::{Etcd, Postgres, Redis, StartError};

fn port_of(url: &str) -> u16 {
    let (_, behind) = url.rsplit_once(':').unwrap();
    behind.split('/').next().unwrap().parse().unwrap()
}

fn is_open(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// A dropped server has been waited for, but its last children may still be closing the port.
fn closes(port: u16) -> bool {
    let since = Instant::now();
    while is_open(port) && since.elapsed() < Duration::from_secs(5) {
        std::thread::yield_now();
    }
    !is_open(port)
}

macro_rules! lives {
    ($name:ident, $start:expr) => {
        #[test]
        fn $name() {
            let mut server = $start.unwrap();
            let port = port_of(&server.url());
            server.pause();
            server.resume();
            server.stop();
            assert!(closes(port));
            server.restart().unwrap();
            server.kill();
            assert!(closes(port));
            server.restart().unwrap();
            assert_eq!(port_of(&server.url()), port);
            assert!(is_open(port));
            let panicked = std::thread::spawn(move || {
                let _server = server;
                panic!("on purpose");
            });
            panicked.join().unwrap_err();
            assert!(closes(port));
        }
    };
}

lives!(
    postgres_restarts_on_its_port_and_ends_with_a_panicking_test,
    Postgres::start()
);
lives!(
    redis_restarts_on_its_port_and_ends_with_a_panicking_test,
    Redis::start(Redis::DURABLE)
);
lives!(
    etcd_restarts_on_its_port_and_ends_with_a_panicking_test,
    Etcd::start()
);

#[test]
fn a_server_that_ends_at_once_says_why() {
    let Err(StartError::Ended { said, .. }) = Redis::start(&[("no-such-setting", "1")]) else {
        panic!("it must not start");
    };
    assert!(said.contains("no-such-setting"), "{said}");
}
