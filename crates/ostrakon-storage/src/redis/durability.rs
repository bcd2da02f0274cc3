//! Whether a server keeps what it acknowledges.

use std::collections::BTreeMap;

use redis::aio::MultiplexedConnection;

use super::trouble::Trouble;

/// Looks at the settings, and says which one is dangerous, why, and what it should be.
pub(super) async fn check(connection: &mut MultiplexedConnection) -> Result<(), Trouble> {
    let replication: String = redis::cmd("INFO")
        .arg("replication")
        .query_async(connection)
        .await?;
    let settings = settings(connection).await;
    let danger = match settings {
        Ok(settings) => danger(&replication, &settings),
        Err(error) if error.code().is_some() => Some(format!(
            "its settings cannot be checked (CONFIG GET: {error}); allow that command"
        )),
        Err(error) => return Err(error.into()),
    };
    danger.map_or(Ok(()), |reason| Err(Trouble::NotDurable(reason)))
}

/// One pattern at a time: servers before version 7 take no more.
async fn settings(
    connection: &mut MultiplexedConnection,
) -> Result<BTreeMap<String, String>, redis::RedisError> {
    let mut all = BTreeMap::new();
    for pattern in ["append*", "maxmemory*"] {
        let mut command = redis::cmd("CONFIG");
        let part: BTreeMap<String, String> = command
            .arg("GET")
            .arg(pattern)
            .query_async(connection)
            .await?;
        all.extend(part);
    }
    Ok(all)
}

fn danger(replication: &str, settings: &BTreeMap<String, String>) -> Option<String> {
    let setting = |name: &str| settings.get(name).map_or("", String::as_str);
    let replication_says = |name: &str| {
        let mut lines = replication.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    };
    let replicas = replication_says("connected_slaves").unwrap_or("0");
    if replication_says("role") != Some("master") {
        return Some(
            "it is a replica, which lags behind: give the address of a server that stands alone"
                .to_owned(),
        );
    }
    if replicas != "0" {
        return Some(format!(
            "it has {replicas} replicas, and one that takes over has not seen what was acknowledged last; use a server that stands alone"
        ));
    }
    if setting("appendonly") != "yes" {
        return Some("appendonly is off, and a restart forgets what came after the last snapshot; set appendonly yes".to_owned());
    }
    let fsync = setting("appendfsync");
    if fsync != "always" {
        return Some(format!(
            "appendfsync is {fsync}, and it acknowledges before it has written; set appendfsync always"
        ));
    }
    let policy = setting("maxmemory-policy");
    if setting("maxmemory") != "0" && policy.starts_with("allkeys") {
        return Some(format!(
            "maxmemory-policy is {policy}, and it forgets keys when memory is short; set maxmemory-policy noeviction"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: &str = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";

    fn settings(changed: (&str, &str)) -> BTreeMap<String, String> {
        let durable = [
            ("appendonly", "yes"),
            ("appendfsync", "always"),
            ("maxmemory", "0"),
            ("maxmemory-policy", "noeviction"),
        ];
        let all = durable.into_iter().chain([changed]);
        all.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn a_server_that_stands_alone_and_writes_first_is_fine() {
        assert_eq!(danger(ALONE, &settings(("appendonly", "yes"))), None);
        let rooms = settings(("maxmemory", "1000000"));
        assert_eq!(danger(ALONE, &rooms), None);
    }

    #[test]
    fn each_danger_is_named() {
        for (name, value) in [("appendonly", "no"), ("appendfsync", "everysec")] {
            let said = danger(ALONE, &settings((name, value))).unwrap();
            assert!(said.starts_with(name), "{said}");
        }
        let mut evicting = settings(("maxmemory", "1000000"));
        evicting.insert("maxmemory-policy".to_owned(), "allkeys-lru".to_owned());
        assert!(danger(ALONE, &evicting).unwrap().contains("allkeys-lru"));
    }

    #[test]
    fn replication_is_dangerous_from_either_side() {
        let fine = settings(("appendonly", "yes"));
        let followed = "role:master\r\nconnected_slaves:2\r\n";
        assert!(danger(followed, &fine).unwrap().contains("2 replicas"));
        let following = "role:slave\r\nconnected_slaves:0\r\n";
        assert!(danger(following, &fine).unwrap().contains("is a replica"));
    }
}
