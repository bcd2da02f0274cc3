use ostrakon_control::Conversation;

use super::*;

fn at(number: usize) -> Address {
    Address::new(format!("127.0.0.1:{number}")).expect("it is an address")
}

fn connection() -> Connection {
    let (_, mouth) = Conversation::new(Box::new(tokio::io::duplex(64).0));
    Connection {
        mouth,
        hang_up: Arc::new(Notify::new()),
    }
}

fn is_free(lines: &mut Lines, to: &Address) -> bool {
    matches!(lines.ready(to), Ready::Free(_))
}

#[tokio::test]
async fn only_the_first_who_has_something_to_say_dials() {
    let mut lines = Lines::default();
    assert!(is_free(&mut lines, &at(1)));
    assert!(matches!(lines.ready(&at(1)), Ready::Dialing(_)));
    lines.opened(&at(1), 1, connection());
    assert!(matches!(lines.ready(&at(1)), Ready::Open(1, _)));
    lines.closed(&at(1), 1);
    assert!(is_free(&mut lines, &at(1)));
}

#[tokio::test]
async fn of_two_connections_the_one_that_is_left_is_used() {
    let mut lines = Lines::default();
    for number in [1, 2] {
        lines.opened(&at(1), number, connection());
    }
    assert!(matches!(lines.ready(&at(1)), Ready::Open(2, _)));
    lines.closed(&at(1), 2);
    assert!(matches!(lines.ready(&at(1)), Ready::Open(1, _)));
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_until_somebody_answers() {
    let mut lines = Lines::default();
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        assert!(is_free(&mut lines, &at(1)));
        lines.failed(&at(1), "refused");
        let began = Instant::now();
        while let Ready::Resting(trouble) = lines.ready(&at(1)) {
            assert_eq!(trouble, "refused");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        longest = began.elapsed();
        lines.failed(&at(1), "refused");
        tokio::time::sleep(LONGEST_PAUSE).await;
    }
    assert!(
        longest >= LONGEST_PAUSE / 2 && longest <= LONGEST_PAUSE + FIRST_PAUSE,
        "{longest:?}"
    );
    lines.opened(&at(1), 1, connection());
    assert_eq!(
        lines.outcome(&at(1)),
        "it answers, but has no cluster for us"
    );
    lines.closed(&at(1), 1);
    assert!(is_free(&mut lines, &at(1)));
}

#[tokio::test]
async fn the_same_trouble_is_new_only_once() {
    let mut lines = Lines::default();
    assert_eq!(lines.failed(&at(1), "refused"), Some(true));
    assert_eq!(lines.failed(&at(1), "refused"), Some(false));
    assert_eq!(lines.failed(&at(1), "late"), Some(true));
    assert_eq!(lines.outcome(&at(1)), "late");
    lines.opened(&at(1), 1, connection());
    assert_eq!(
        lines.failed(&at(1), "late"),
        None,
        "it has dialed meanwhile"
    );
}

#[tokio::test]
async fn there_are_never_more_than_so_many_and_the_least_used_goes_first() {
    let mut lines = Lines::default();
    let oldest = connection();
    lines.opened(&at(0), 1, oldest.clone());
    for number in 1..MOST + 5 {
        lines.opened(&at(number), number as u64 + 1, connection());
    }
    assert_eq!(lines.connections(), MOST);
    oldest.hang_up.notified().await;
    assert_eq!(lines.outcome(&at(0)), "not tried");
}
