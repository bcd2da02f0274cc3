//! `Browser`: a browser without a window, and somebody who looks at the page in it.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use thirtyfour::{
    By, ChromeCapabilities, ChromiumLikeCapabilities, LoggingPrefsLogLevel, WebDriver, WebElement,
};

use crate::wire::Wire;

/// How long anything may take to show.
const PATIENCE: Duration = Duration::from_secs(30);
const PACKAGES: &str =
    "this test needs Debian's packages `chromium` and `chromium-driver`: apt-get install them";

pub(crate) struct Browser {
    driver: WebDriver,
    process: Child,
}

impl Browser {
    /// Opens a page.
    pub(crate) async fn open(url: &str) -> Self {
        let (process, port) = start_driver();
        let mut capabilities = ChromeCapabilities::new();
        for argument in [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1380,1200",
        ] {
            capabilities.add_arg(argument).unwrap();
        }
        capabilities
            .set_browser_log_level(LoggingPrefsLogLevel::All)
            .unwrap();
        let at = format!("http://127.0.0.1:{port}");
        let driver = WebDriver::builder(at, capabilities).client(Wire);
        let driver = Box::pin(driver.connect()).await;
        let driver = driver.unwrap_or_else(|error| panic!("{PACKAGES}: {error}"));
        driver.set_script_timeout(PATIENCE).await.unwrap();
        let browser = Self { driver, process };
        browser.prefer("light").await;
        browser.driver.goto(url).await.unwrap();
        browser
            .until("the stream", &is_text("#connection", "live"))
            .await;
        browser
    }

    /// Waits, in the browser, until this JavaScript is true of the page.
    pub(crate) async fn until(&self, what: &str, is_so: &str) {
        let script = format!(
            "const done = arguments[0];
             const look = () => ({is_so}) ? done(true) : requestAnimationFrame(look);
             look();"
        );
        let waited = self.driver.execute_async(script, vec![]).await;
        if let Err(error) = waited {
            let page = self.text("body").await;
            panic!("{what} did not show: {is_so}: {error}\n{page}");
        }
    }

    pub(crate) async fn text(&self, selector: &str) -> String {
        self.find(selector).await.text().await.unwrap()
    }

    /// What this JavaScript says.
    pub(crate) async fn count(&self, script: &str) -> u64 {
        let answer = self
            .driver
            .execute(format!("return {script}"), vec![])
            .await;
        answer.unwrap().convert().unwrap()
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.find(selector).await.click().await.unwrap();
    }

    /// Types into a field instead of what was there.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        let field = self.find(selector).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Presses keys, wherever the focus is.
    pub(crate) async fn press(&self, keys: impl AsRef<str>) {
        let focus = self.driver.active_element().await.unwrap();
        focus.send_keys(keys.as_ref()).await.unwrap();
    }

    /// What the system is said to prefer: `light` or `dark`.
    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        let tools = self.driver.cdp();
        let told = tools.send_raw("Emulation.setEmulatedMedia", features);
        told.await.unwrap();
    }

    /// What the browser complains about: errors, and things it refused to load.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.driver.browser_log().await.unwrap();
        let serious = log.into_iter().filter(|entry| entry.level != "INFO");
        serious.map(|entry| entry.message).collect()
    }

    /// Keeps what is to be seen below `target`, and for the documentation if that is asked for.
    pub(crate) async fn picture(&self, name: &str) {
        let png = self.driver.screenshot_as_png().await.unwrap();
        let mut folders = vec![Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard")];
        if let Some(docs) =
            env::var_os("OSTRAKON_SCREENSHOTS").filter(|_| name.starts_with("dashboard-"))
        {
            let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            folders.push(root.join(docs));
        }
        for folder in folders {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{name}.png")), &png).unwrap();
        }
    }

    pub(crate) async fn close(self) {
        self.driver.clone().quit().await.unwrap();
    }

    async fn find(&self, selector: &str) -> WebElement {
        let found = self.driver.find(By::Css(selector)).await;
        found.unwrap_or_else(|error| panic!("{selector}: {error}"))
    }
}

/// The browser ends with its driver, also after a test that has failed: they are one group of processes.
impl Drop for Browser {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.process);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Whether the text of an element is this, in JavaScript.
pub(crate) fn is_text(selector: &str, text: &str) -> String {
    format!("document.querySelector({selector:?})?.textContent === {text:?}")
}

/// Starts the driver on a port that it chooses, and reads which one.
fn start_driver() -> (Child, u16) {
    let started = Command::new("chromedriver")
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut process = started.unwrap_or_else(|error| panic!("{PACKAGES}: chromedriver: {error}"));
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let port = lines.map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    (process, port.expect("the driver says its port"))
}
