//! `Log`: what the nodes of a test log, line by line.
//!
//! It hears this thread only, so a test that uses it runs on one thread; tests beside it are not heard.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, Once},
};

use tokio::sync::Notify;

use crate::cluster::SOON;

pub(crate) struct Log {
    heard: Arc<Heard>,
    _listening: tracing::subscriber::DefaultGuard,
}

static EVERYWHERE: Once = Once::new();

/// A place in the code that is first reached by a test which does not listen would be silent for those that do: whether anybody listens
/// there is remembered from the first time. So all of them do, though some to nothing.
fn be_heard_everywhere() {
    let nothing = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(io::sink);
    let _ = tracing::subscriber::set_global_default(nothing.finish());
}

#[derive(Default)]
struct Heard {
    text: Mutex<Vec<u8>>,
    more: Notify,
}

impl Log {
    /// Listens from now on, until it is dropped.
    pub(crate) fn listen() -> Self {
        let heard = Arc::new(Heard::default());
        EVERYWHERE.call_once(be_heard_everywhere);
        let writer = Arc::clone(&heard);
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .with_ansi(false)
            .with_writer(move || Pen(Arc::clone(&writer)))
            .finish();
        Self {
            heard,
            _listening: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard.text.lock().unwrap()).into_owned()
    }

    /// Waits until there is a line with all these words; returns it.
    pub(crate) async fn says(&self, words: &[&str]) -> String {
        let said = async {
            loop {
                let more = self.heard.more.notified();
                if let Some(line) = self.line(words) {
                    return line;
                }
                more.await;
            }
        };
        match tokio::time::timeout(SOON, said).await {
            Ok(line) => line,
            Err(_) => panic!("nothing with {words:?} in\n{}", self.text()),
        }
    }

    pub(crate) fn line(&self, words: &[&str]) -> Option<String> {
        let text = self.text();
        let mut lines = text.lines();
        let found = lines.find(|line| words.iter().all(|word| line.contains(word)));
        found.map(str::to_owned)
    }
}

struct Pen(Arc<Heard>);

impl Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.text.lock().unwrap().extend_from_slice(bytes);
        self.0.more.notify_waiters();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
