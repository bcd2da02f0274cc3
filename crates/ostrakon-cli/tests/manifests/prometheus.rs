//! `Prometheus`: a real server that reads what a test tells it to, every second. Asked with `curl`, as its own page would ask.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{Folder, alerts};

const WITHIN: Duration = Duration::from_secs(60);

pub(crate) struct Prometheus {
    process: Child,
    address: String,
}

impl Prometheus {
    /// Starts one that reads these jobs, written as its settings want them, and keeps our alerts in view.
    pub(crate) fn start(folder: &Folder, jobs: &str) -> Self {
        let rules = alerts::folder().join("alerts.yaml");
        let settings = format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{}]\nscrape_configs:\n{jobs}",
            rules.display()
        );
        let file = folder.0.join("prometheus.yaml");
        fs::write(&file, settings).expect("it can be written");
        let mut process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.0.join("data").display()
            ))
            .arg("--web.listen-address=127.0.0.1:0")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the Debian package prometheus is installed");
        let mut said = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let address = said.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, address) = line.split_once("msg=\"Listening on\" address=")?;
            Some(address.trim().to_owned())
        });
        // Somebody has to read on, or it waits for that.
        thread::spawn(move || said.for_each(drop));
        let address = address.unwrap_or_default();
        let prometheus = Self { process, address };
        assert!(!prometheus.address.is_empty(), "see {}", file.display());
        prometheus
    }

    /// The samples of an expression.
    pub(crate) fn query(&self, expression: &str) -> Vec<Value> {
        let answer = self.get("query", &format!("query={expression}"));
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        let samples = answer["data"]["result"].as_array();
        samples.expect("an expression has samples").clone()
    }

    /// The rules that it has read.
    pub(crate) fn rules(&self) -> Vec<Value> {
        let answer = self.get("rules", "type=alert");
        let groups = answer["data"]["groups"].as_array().into_iter().flatten();
        let rules = groups.flat_map(|group| group["rules"].as_array().into_iter().flatten());
        rules.cloned().collect()
    }

    /// Asks until there is an answer. A rate has none before the second look.
    pub(crate) fn until_there_is(&self, expression: &str) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let samples = self.query(expression);
            if !samples.is_empty() {
                return samples;
            }
            let targets = || self.get("targets", "state=active");
            let waits = began.elapsed() < WITHIN;
            assert!(waits, "no answer to {expression}: {}", targets());
        }
    }

    /// The answer, whatever it says. Its port may be open before it is ready: `curl` asks again while it says so.
    fn get(&self, path: &str, parameter: &str) -> Value {
        let asked = Command::new("curl")
            .args(["-sS", "-G", "--retry", "10", "--max-time", "30"])
            .args(["--data-urlencode", parameter])
            .arg(format!("http://{}/api/v1/{path}", self.address))
            .output()
            .expect("the Debian package curl is installed");
        let answer = serde_json::from_slice(&asked.stdout);
        answer.unwrap_or_else(|error| panic!("{error}: {asked:?}"))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It has ended already, or is to end now; nobody can do more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
