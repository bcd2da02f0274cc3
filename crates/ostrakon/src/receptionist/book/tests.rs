use super::*;
use crate::{Context, EntityRef, Failure};

struct Printer;

impl Entity for Printer {
    const KIND: &'static str = "printer";
    type Message = u8;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, _: u8, _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

fn name(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn page(incarnation: u64, version: u64, actors: &[&str]) -> Page {
    let line = |actor: &&str| {
        let actor = EntityId::new(actor).unwrap();
        Line("key".to_owned(), "printer".to_owned(), actor)
    };
    Page {
        edition: Edition {
            incarnation: Incarnation::new(incarnation),
            version,
        },
        lines: actors.iter().map(line).collect(),
    }
}

fn entry(actor: &str) -> Entry {
    Entry::new::<Printer>("key", actor).unwrap()
}

fn book_that_knows(nodes: &[&str]) -> Book {
    let mut book = Book::default();
    book.meet(&nodes.iter().map(|node| name(node)).collect());
    book
}

fn listed(book: &Book) -> Vec<String> {
    let listed = book.listed::<Printer>(&name("m"), "key").into_iter();
    listed
        .map(|(node, actor)| format!("{node}/{actor}"))
        .collect()
}

#[test]
fn a_listing_is_in_the_order_of_nodes_then_of_names() {
    let mut book = book_that_knows(&["a", "z"]);
    book.take(&name("z"), page(1, 1, &["1", "2"]));
    book.take(&name("a"), page(9, 9, &["9"]));
    book.enter(entry("5")).unwrap();
    book.enter(entry("4")).unwrap();
    assert_eq!(listed(&book), ["a/9", "m/4", "m/5", "z/1", "z/2"]);
}

#[test]
fn a_later_page_replaces_an_earlier_one_and_never_the_other_way_round() {
    let mut book = book_that_knows(&["a"]);
    assert!(book.take(&name("a"), page(1, 2, &["two"])));
    assert!(!book.take(&name("a"), page(1, 1, &["one"])));
    assert!(!book.take(&name("a"), page(1, 2, &["other"])));
    assert_eq!(listed(&book), ["a/two"]);
    // A new run begins to count anew.
    assert!(book.take(&name("a"), page(2, 0, &[])));
    assert!(!book.take(&name("a"), page(1, 3, &["three"])));
    assert!(listed(&book).is_empty());
}

#[test]
fn a_page_that_says_the_same_is_no_news_but_counts() {
    let mut book = book_that_knows(&["a"]);
    assert!(!book.take(&name("a"), page(1, 1, &[])));
    assert!(book.take(&name("a"), page(1, 2, &["x"])));
    assert!(!book.take(&name("a"), page(1, 4, &["x"])));
    assert!(!book.take(&name("a"), page(1, 3, &[])), "it came too late");
    assert_eq!(listed(&book), ["a/x"]);
}

#[test]
fn nothing_is_kept_of_a_node_that_is_not_there() {
    let mut book = book_that_knows(&["a"]);
    assert!(!book.take(&name("b"), page(1, 1, &["x"])));
    assert!(book.take(&name("a"), page(1, 5, &["x"])));
    assert!(book.meet(&BTreeSet::from([name("b")])));
    assert!(listed(&book).is_empty());
    // Another run whose clock was set back meanwhile.
    assert!(!book.meet(&BTreeSet::from([name("a")])));
    assert!(book.take(&name("a"), page(0, 1, &["x"])));
}

#[test]
fn pages_beyond_the_limits_or_out_of_order_are_ignored() {
    let mut book = book_that_knows(&["a"]);
    let names: Vec<_> = (0..=page::ENTRIES).map(|n| format!("{n:04}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let long = "x".repeat(page::KEY + 1);
    let mut long_key = page(1, 1, &["x"]);
    long_key.lines[0].0 = long;
    let mut heavy = page(1, 1, &["x"]);
    heavy.lines[0].1 = "k".repeat(page::BYTES);
    for bad in [
        page(1, 1, &names),
        page(1, 1, &["b", "a"]),
        page(1, 1, &["a", "a"]),
        long_key,
        heavy,
    ] {
        assert!(!book.take(&name("a"), bad));
    }
    assert!(book.take(&name("a"), page(1, 1, &names[1..])));
}

#[test]
fn every_change_of_the_own_page_has_a_version_and_a_leaving_node_shows_nothing() {
    let mut book = Book::default();
    let mut versions = vec![book.page().edition.version];
    assert_eq!(book.enter(entry("a")), Ok(true));
    versions.push(book.page().edition.version);
    assert_eq!(book.enter(entry("a")), Ok(false));
    assert_eq!(book.enter(entry("b")), Ok(true));
    versions.push(book.page().edition.version);
    assert!(book.take_out(&entry("a")));
    assert!(!book.take_out(&entry("a")));
    versions.push(book.page().edition.version);
    assert_eq!(book.page().lines, page(0, 0, &["b"]).lines);
    book.leave();
    versions.push(book.page().edition.version);
    assert_eq!(book.page().lines, []);
    assert_eq!(listed(&book), ["m/b"], "it runs until it has stopped");
    assert!(book.actor_ended(&EntityId::new("b").unwrap()));
    versions.push(book.page().edition.version);
    assert_eq!(versions, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_fullest_page_with_all_around_it_fits_into_the_smallest_message() {
    let mut book = Book::default();
    book.begin(Incarnation::new(u64::MAX));
    book.version = u64::MAX - 2_000;
    let mut n = 0;
    // Each text is long enough that its length takes the most bytes.
    while book
        .enter(Entry::new::<Printer>(&"k".repeat(256), &format!("{n:0300}")).unwrap())
        .is_ok()
    {
        n += 1;
    }
    assert!(n > 100, "{n}");
    let swap = crate::receptionist::clerk::Swap {
        from: name(&"n".repeat(NodeName::MAX_LEN)),
        page: book.page(),
        reply: crate::Reply::ignored(),
    };
    let bytes = crate::Codec::MessagePack.encode(&swap).unwrap();
    assert!(bytes.len() <= 64 * 1024, "{}", bytes.len());
    assert!(book.page().fits());
}
