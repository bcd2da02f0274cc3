//! Spans name kind and id, and never a payload. Alone in its process, because subscribers are process-wide.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use ostrakon::{Node, entity};

#[derive(Default)]
struct Diary;

#[entity(kind = "diary")]
impl Diary {
    async fn note(&mut self, text: String) -> usize {
        text.len()
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn spans_name_kind_and_id_but_no_payload() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::NEW)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .init();
    let node = Node::builder("n").host::<Diary>().start().await.unwrap();
    let noted = node
        .entity::<Diary>("alice")
        .note("secret".to_owned())
        .await;
    assert_eq!(noted.unwrap(), 6);
    node.leave().await.unwrap();
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for span in ["start", "handle", "stop"] {
        let expected = format!("{span}{{kind=\"diary\" id=alice}}");
        assert!(text.contains(&expected), "{text}");
    }
    assert!(!text.contains("secret"), "{text}");
}
