//! `Service`: the example as a process, and requests to it in the plainest HTTP there is. It is killed if the test fails.

use std::{
    io::{BufRead, BufReader, Lines, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

/// Every wait for an answer ends by then.
const LATEST: Duration = Duration::from_secs(30);

pub(crate) struct Service {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Service {
    /// Starts the example with nothing but these in its environment.
    pub(crate) fn start(environment: &[(&str, &str)]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_http-counter"))
            .env_clear()
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example was built for this test");
        let said = process.stdout.take().expect("it is piped");
        let said = BufReader::new(said).lines();
        Self { process, said }
    }

    /// Where the next node of the process serves, once it does.
    pub(crate) fn next_address(&mut self) -> String {
        let line = self.said.next().expect("it says more").expect("it is text");
        let (_, address) = line.split_once("http://").expect("an address");
        address.to_owned()
    }

    /// Tells it to stop as a platform does; returns what it said then.
    pub(crate) fn end(mut self) -> Vec<String> {
        let id = self.process.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.is_ok_and(|told| told.success()));
        let rest = self.said.by_ref().map(|line| line.expect("it is text"));
        let rest = rest.collect();
        let status = self.process.wait().expect("it is ours to wait for");
        assert!(status.success(), "{status}");
        rest
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What an answer should be.
pub(crate) fn answer(status: u16, text: &str) -> (u16, String) {
    (status, text.to_owned())
}

/// Sends one request on a connection of its own.
pub(crate) fn ask(address: &str, method: &str, path: &str) -> (u16, String) {
    ask_with(address, method, path, "x-nothing: special")
}

/// The same, with one more header.
pub(crate) fn ask_with(address: &str, method: &str, path: &str, header: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it serves there");
    let limit = stream.set_read_timeout(Some(LATEST));
    limit.expect("a limit above nothing");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n{header}\r\n\r\n"
    );
    let sent = stream.write_all(request.as_bytes());
    sent.expect("it reads requests");
    let mut text = String::new();
    let read = stream.read_to_string(&mut text);
    read.expect("it answers with text, and closes then");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.trim().to_owned())
}
