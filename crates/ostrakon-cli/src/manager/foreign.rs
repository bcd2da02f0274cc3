//! Settings of Shardcake that somebody who comes from there may write, and why they cannot be set.
//!
//! Names and defaults are those of its config page wherever there is the same thing here. The rest is refused with an explanation: to
//! take a setting and not follow it would be worse.

/// Why a key cannot be set, if it is one of the original's.
pub(crate) fn reason(key: &str) -> Option<String> {
    let snake = snake_case(key);
    let reason = FOREIGN
        .iter()
        .find(|(foreign, _)| *foreign == snake)
        .map(|(_, reason)| (*reason).to_owned());
    let renamed =
        (snake != key && SAME.contains(&snake.as_str())).then(|| format!("write `{snake}`"));
    reason.or(renamed)
}

/// Those that are the same here.
const SAME: [&str; 3] = ["rebalance_interval", "rebalance_rate", "ping_timeout"];

const FOREIGN: [(&str, &str); 14] = [
    (
        "number_of_shards",
        "nodes bring their groups of shards with them, and the log keeps how many there are; set it on the nodes",
    ),
    (
        "api_port",
        "set `listen` for nodes and `listen` of the table [admin] for the admin API",
    ),
    (
        "rebalance_retry_interval",
        "what could not be done is tried again a second later, always",
    ),
    (
        "persist_retry_interval",
        "nothing is done before it is in the log, so there is nothing to persist afterwards; see `storage_deadline`",
    ),
    (
        "persist_retry_count",
        "nothing is done before it is in the log, and a log that cannot be reached is never given up",
    ),
    ("self_host", OF_NODES),
    ("sharding_port", OF_NODES),
    ("shard_manager_uri", OF_NODES),
    ("server_version", OF_NODES),
    ("entity_max_idle_time", OF_NODES),
    ("entity_termination_timeout", OF_NODES),
    ("send_timeout", OF_NODES),
    (
        "refresh_assignments_retry_interval",
        "nodes follow the log as it grows, and connect again by themselves",
    ),
    (
        "unhealthy_pod_report_interval",
        "nodes limit by themselves how often they report each other",
    ),
];

const OF_NODES: &str = "it is a matter of the nodes: see the builder of `ostrakon::Node`";

fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len());
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
