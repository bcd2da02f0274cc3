use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A detector that has heard `count` heartbeats, one every `interval`, and the moment of the last.
fn regular(config: PhiConfig, interval: Duration, count: u32) -> (PhiAccrual, Time) {
    let mut phi = PhiAccrual::new(config, Time::ZERO).expect("the config is valid");
    let mut now = Time::ZERO;
    for _ in 0..count {
        now = now + interval;
        phi.heartbeat(now);
    }
    (phi, now)
}

fn without_pause() -> PhiConfig {
    PhiConfig {
        acceptable_pause: Duration::ZERO,
        ..PhiConfig::default()
    }
}

#[test]
fn a_peer_that_is_never_heard_becomes_suspicious() {
    let phi = PhiAccrual::new(PhiConfig::default(), Time::ZERO).unwrap();
    assert!(phi.is_available(Time::ZERO));
    assert!(phi.is_available(Time::ZERO + ms(3300)));
    assert!(!phi.is_available(Time::ZERO + ms(3310)));
}

#[test]
fn a_regular_peer_is_suspected_5_22_deviations_after_its_interval() {
    let (phi, last) = regular(without_pause(), ms(500), 300);
    assert!(phi.is_available(last + ms(1020)));
    assert!(!phi.is_available(last + ms(1024)));
}

#[test]
fn an_acceptable_pause_and_a_grace_are_added_to_the_silence() {
    let (phi, last) = regular(PhiConfig::default(), ms(500), 300);
    assert!(phi.is_available(last + ms(2020)));
    assert!(!phi.is_available(last + ms(2024)));
    assert!(phi.is_available_with_grace(last + ms(5020), ms(3000)));
    assert!(!phi.is_available_with_grace(last + ms(5024), ms(3000)));
}

#[test]
fn heartbeats_while_time_stands_still_or_turns_back_teach_nothing() {
    let (mut phi, last) = regular(without_pause(), ms(500), 300);
    let later = last + ms(900);
    let before = phi.phi(later);
    for _ in 0..1000 {
        phi.heartbeat(last);
        phi.heartbeat(Time::ZERO);
    }
    assert_eq!(phi.phi(later), before);
    assert_eq!(phi.silence(Time::ZERO), Duration::ZERO);
}

#[test]
fn an_outage_ends_with_the_next_heartbeat_and_is_not_taken_for_a_habit() {
    let (mut phi, last) = regular(without_pause(), ms(500), 300);
    let back = last + Duration::from_secs(1_000_000);
    assert!(!phi.is_available(back));
    phi.heartbeat(back);
    assert!(phi.is_available(back + ms(1000)));
    assert!(!phi.is_available(back + ms(1024)));
}

#[test]
fn the_end_of_time_gives_a_finite_phi() {
    let (phi, _) = regular(without_pause(), ms(500), 3);
    assert!(phi.phi(Time::from_nanos(u64::MAX)).is_finite());
}

#[test]
fn an_observer_that_slept_forgives_without_learning() {
    let (mut phi, last) = regular(without_pause(), ms(500), 300);
    let woke = last + Duration::from_secs(60);
    phi.forgive(woke);
    assert!(phi.is_available(woke + ms(1020)));
    assert!(!phi.is_available(woke + ms(1024)));
    phi.forgive(last);
    assert_eq!(phi.silence(woke), Duration::ZERO);
}

#[test]
fn old_habits_leave_with_the_window() {
    let (mut phi, mut now) = regular(without_pause(), ms(2000), 400);
    for _ in 0..1000 {
        now = now + ms(500);
        phi.heartbeat(now);
    }
    assert_eq!(phi.intervals.len(), 200);
    assert!(!phi.is_available(now + ms(1024)));
}

#[test]
fn senseless_settings_are_refused_with_their_numbers() {
    let refusal = |config| PhiAccrual::new(config, Time::ZERO).unwrap_err().to_string();
    let valid = PhiConfig::default();
    for threshold in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let config = PhiConfig { threshold, ..valid };
        assert!(refusal(config).contains("above 0 and at most 100"));
    }
    assert!(refusal(PhiConfig { window: 1, ..valid }).contains("1 intervals"));
    let min_std = Duration::ZERO;
    assert!(refusal(PhiConfig { min_std, ..valid }).contains("min_std is 0ns"));
    let first_estimate = LONGEST * 2;
    let config = PhiConfig {
        first_estimate,
        ..valid
    };
    assert!(refusal(config).contains("first_estimate is 7200s"));
    let acceptable_pause = LONGEST * 2;
    let config = PhiConfig {
        acceptable_pause,
        ..valid
    };
    assert!(refusal(config).contains("acceptable_pause is 7200s"));
}

/// The true values are tables of the normal distribution.
#[test]
fn the_tail_is_as_wrong_as_documented() {
    let rows = [
        (0.0, std::f64::consts::LOG10_2, 0.0002),
        (1.0, 0.799_54, 0.0002),
        (2.0, 1.643_02, 0.0002),
        (3.0, 2.869_70, 0.04),
        (4.0, 4.499_34, 0.24),
        (5.0, 6.542_65, 0.76),
        (6.0, 9.005_86, 1.8),
    ];
    for (y, truth, error) in rows {
        let over = minus_log10_of_tail(y) - truth;
        assert!((-0.0002..=error).contains(&over), "{y}: {over}");
    }
}

#[test]
fn the_handmade_functions_agree_with_the_machine() {
    for step in 0..=4000 {
        let a = f64::from(step) / 100.0;
        assert!((exp_of_minus(a) - (-a).exp()).abs() < 1e-13, "{a}");
        let u = f64::from(step) / 4000.0;
        assert!((ln_1p(u) - u.ln_1p()).abs() < 1e-15, "{u}");
    }
}

proptest! {
    #[test]
    fn phi_grows_with_silence(intervals in jitter(), silence in 0..100_000_u64, more in 1..100_000_u64) {
        let (phi, last) = after(&intervals);
        let (early, late) = (phi.phi(last + ms(silence)), phi.phi(last + ms(silence + more)));
        // The last bits of the series may tremble where phi is close to 0.
        prop_assert!(late >= early - 1e-12, "{early} then {late}");
        prop_assert!(early >= 0.0);
    }

    /// Ten heartbeats between 300 and 700 ms apart, with the two first estimates still in the window, have a mean of at most
    /// 750 ms and a deviation of at most 292 ms; more of them have less. 5.23 deviations and the pause come on top.
    #[test]
    fn a_crash_is_noticed_within_a_computable_bound(intervals in jitter()) {
        let (phi, last) = after(&intervals);
        prop_assert!(!phi.is_available(last + ms(750 + 1528 + 1000)));
    }

    /// The mean is at least 300 ms and the assumed deviation at least 100 ms.
    #[test]
    fn jitter_within_bounds_raises_no_alarm(intervals in jitter(), silence in 0..=1800_u64) {
        let mut phi = PhiAccrual::new(PhiConfig::default(), Time::ZERO).unwrap();
        let mut now = Time::ZERO;
        for interval in intervals {
            now = now + ms(interval);
            prop_assert!(phi.is_available(now), "{now}");
            phi.heartbeat(now);
        }
        prop_assert!(phi.is_available(now + ms(silence)));
    }
}

fn jitter() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(300..=700_u64, 10..400)
}

fn after(intervals: &[u64]) -> (PhiAccrual, Time) {
    let mut phi = PhiAccrual::new(PhiConfig::default(), Time::ZERO).expect("the config is valid");
    let mut now = Time::ZERO;
    for interval in intervals {
        now = now + ms(*interval);
        phi.heartbeat(now);
    }
    (phi, now)
}
