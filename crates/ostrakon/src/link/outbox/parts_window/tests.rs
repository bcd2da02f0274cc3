//! The window on ways that are long or short, quick or slow, in a time of their own.

use super::*;

const SLICE: usize = 16 * 1024;

/// A way that takes `delay` there and back, and on which one slice can be read every `pace`.
#[derive(Clone, Copy)]
struct Way {
    delay: Duration,
    pace: Duration,
}

struct Trip {
    /// How long it took to send everything and to hear that it was read.
    lasted: Duration,
    /// The longest that any slice waited for others.
    waited: Duration,
    window: PartsWindow,
    ended: Time,
}

impl Way {
    /// Sends so many slices, one as soon as there is room for it.
    fn send(self, slices: u32) -> Trip {
        self.send_from(PartsWindow::default(), Time::ZERO, slices)
    }

    fn send_from(self, mut window: PartsWindow, start: Time, slices: u32) -> Trip {
        let mut reports = VecDeque::new();
        let (mut now, mut free, mut waited) = (start, start, Duration::ZERO);
        let mut left = slices;
        while left > 0 || !reports.is_empty() {
            if left > 0 && window.has_room() {
                window.sent(SLICE, now);
                left -= 1;
                let arrives = now + self.delay / 2;
                waited = waited.max(free.saturating_since(arrives));
                free = free.max(arrives) + self.pace;
                reports.push_back(free + self.delay / 2);
                assert!(window.unread() < PartsWindow::LARGEST + SLICE as u64);
            } else if let Some(report) = reports.pop_front() {
                now = report;
                window.read(SLICE as u64, now);
            } else {
                panic!("no room, and nothing is on its way");
            }
        }
        Trip {
            lasted: now.saturating_since(start),
            waited,
            window,
            ended: now,
        }
    }
}

#[test]
fn on_a_short_way_nobody_waits_for_more_than_the_smallest_window() {
    let pace = Duration::from_micros(12);
    let delay = Duration::from_micros(15);
    let trip = Way { delay, pace }.send(10_000);
    assert_eq!(trip.window.size, PartsWindow::SMALLEST);
    assert!(trip.waited <= pace * 4, "{:?}", trip.waited);
    assert!(trip.lasted <= pace * 10_100, "the way was idle");
}

#[test]
fn a_long_way_is_filled_and_small_frames_wait_for_less_than_it_takes() {
    let micros = Duration::from_micros;
    // 1.3 GB/s, 330 MB/s and 80 MB/s.
    for (delay, pace) in [(1_000, 12), (5_000, 50), (20_000, 200)] {
        let (delay, pace) = (micros(delay), micros(pace));
        let Trip { lasted, waited, .. } = Way { delay, pace }.send(10_000);
        assert!(waited < delay, "{delay:?}: {waited:?}");
        let least = pace * 10_000 + delay;
        assert!(lasted < least * 5 / 4, "{lasted:?}, not {least:?}");
    }
}

#[test]
fn a_way_that_becomes_longer_is_filled_again() {
    let pace = Duration::from_micros(200);
    let delay = Duration::from_millis(1);
    let short = Way { delay, pace }.send(10_000);
    let delay = Duration::from_millis(50);
    let slices = 40_000;
    let long = Way { delay, pace }.send_from(short.window, short.ended, slices);
    let least = pace * slices + delay;
    // It has to notice first.
    let most = PartsWindow::MEASURED_FOR + least * 5 / 4;
    assert!(long.lasted < most, "{:?}, not {most:?}", long.lasted);
}

#[test]
fn what_is_on_its_way_is_not_forgotten_when_it_is_time_to_measure() {
    let mut window = PartsWindow::default();
    window.sent(SLICE, Time::ZERO);
    let now = Time::ZERO + PartsWindow::MEASURED_FOR;
    window.sent(SLICE, now);
    assert_eq!(window.unread(), 2 * SLICE as u64);
    window.read(SLICE as u64, now);
    assert!(!window.has_room(), "the way is not empty");
    window.read(SLICE as u64, now);
    assert!(window.has_room());
}

#[test]
fn to_measure_anew_again_and_again_costs_little_and_crowds_nobody() {
    let pace = Duration::from_millis(1);
    let delay = Duration::from_millis(20);
    let slices = 300_000;
    let long = Way { delay, pace }.send(slices);
    let measured = long.lasted.as_secs() / PartsWindow::MEASURED_FOR.as_secs();
    assert!(measured >= 10, "it was measured {measured} times");
    assert!(long.waited < delay, "{:?}", long.waited);
    let least = pace * slices + delay;
    assert!(long.lasted < least * 51 / 50, "{:?}", long.lasted);

    let delay = Duration::from_micros(15);
    let short = Way { delay, pace }.send(slices);
    assert_eq!(short.window.size, PartsWindow::SMALLEST);
    assert!(short.lasted < least * 51 / 50, "{:?}", short.lasted);
}

#[test]
fn the_window_has_a_bound_however_long_the_way() {
    let pace = Duration::from_nanos(1);
    let delay = Duration::from_secs(1);
    let trip = Way { delay, pace }.send(10_000);
    assert_eq!(trip.window.size, PartsWindow::LARGEST);
}

#[test]
fn it_is_small_again_when_the_other_side_is_slow() {
    let delay = Duration::from_millis(10);
    let pace = Duration::from_micros(10);
    let quick = Way { delay, pace }.send(1_000);
    assert!(quick.window.size > PartsWindow::SMALLEST * 4);
    let pace = delay;
    // Long enough to measure anew, and it does not take that for a long way.
    let slow = Way { delay, pace }.send_from(quick.window, quick.ended, 10_000);
    assert!(slow.lasted > PartsWindow::MEASURED_FOR * 3);
    assert_eq!(slow.window.size, PartsWindow::SMALLEST);
}

#[test]
fn a_window_that_nobody_fills_does_not_grow() {
    let mut window = PartsWindow::default();
    let mut now = Time::ZERO;
    for _ in 0..1_000 {
        window.sent(SLICE, now);
        now = now + Duration::from_millis(10);
        window.read(SLICE as u64, now);
    }
    assert_eq!(window.size, PartsWindow::SMALLEST);
}

#[test]
fn whoever_reports_more_than_was_sent_gains_nothing() {
    let mut window = PartsWindow::default();
    window.read(u64::MAX, Time::ZERO);
    window.sent(SLICE, Time::ZERO);
    window.read(u64::MAX, Time::ZERO);
    assert_eq!(window.unread(), 0);
    assert_eq!(window.size, PartsWindow::SMALLEST);
}
