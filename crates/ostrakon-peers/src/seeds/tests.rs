use super::*;

fn texts(found: &[Address]) -> Vec<&str> {
    found.iter().map(Address::as_str).collect()
}

#[tokio::test]
async fn addresses_are_written_as_the_system_writes_them_and_each_once() {
    let seeds = Seeds::new(["[0:0::1]:7", "127.0.0.1:7", "[::1]:7"]);
    assert!(!seeds.may_change());
    assert_eq!(texts(&seeds.find().await), ["127.0.0.1:7", "[::1]:7"]);
}

#[tokio::test]
async fn names_are_looked_up_and_one_without_an_address_stays_as_it_is() {
    let seeds = Seeds::new(["localhost:7", "no-port", "no such host:7"]);
    assert!(seeds.may_change());
    let found = seeds.find().await;
    assert!(texts(&found).contains(&"127.0.0.1:7"), "{found:?}");
    assert!(texts(&found).contains(&"no-port"), "{found:?}");
    assert!(found.iter().all(|seed| !seed.as_str().contains("such")));
}

#[tokio::test]
async fn a_function_is_asked_at_each_try() {
    let count = std::sync::atomic::AtomicU16::new(0);
    let seeds = Seeds::asked(move || {
        let port = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { vec![format!("127.0.0.1:{port}")] }
    });
    assert_eq!(texts(&seeds.find().await), ["127.0.0.1:0"]);
    assert_eq!(texts(&seeds.find().await), ["127.0.0.1:1"]);
    assert!(seeds.may_change() && !seeds.is_none());
}
