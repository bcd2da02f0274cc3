//! What `ostrakon manager` and `ostrakon witness` have in common: options of the same name mean the same, and both log, count, listen to
//! signals and show themselves in the same way.
//!
//! What either of them does while it runs is not here.

mod admin_keys;
mod signals;
mod tls_keys;

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use metrics_exporter_prometheus::PrometheusBuilder;
use ostrakon_admin::{Admin, Render};
use ostrakon_tls::Security;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

pub(crate) use self::{
    admin_keys::{AdminKeys, token},
    signals::Signals,
    tls_keys::TlsKeys,
};

/// Old samples are put together so often.
const UPKEEP: Duration = Duration::from_secs(5);

/// Writes what happens to standard error, as far as these levels want it.
pub(crate) fn begin_to_log(levels: &str) -> anyhow::Result<()> {
    let targets: Targets = levels.parse().context("log")?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry();
    registry.with(targets).with(lines).init();
    Ok(())
}

/// Begins to count, and says what was counted when it is asked.
pub(crate) fn metrics() -> anyhow::Result<Render> {
    let metrics = PrometheusBuilder::new().install_recorder();
    let metrics = metrics.context("metrics")?;
    let kept = metrics.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            kept.run_upkeep();
        }
    });
    Ok(Arc::new(move || metrics.render()))
}

/// Where it shows itself, as the line says it with which it begins.
pub(crate) fn shown(admin: &Admin, security: &Security) -> String {
    let scheme = match security.certificates() {
        Some(_) => "https",
        None => "http",
    };
    format!("dashboard and admin API at {scheme}://{}", admin.address())
}

/// Refuses what is no address.
pub(crate) fn check_address(key: &str, address: &str, example: &str) -> anyhow::Result<()> {
    let port = address
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .map(|(_, port)| port);
    ensure!(
        port.is_some_and(|port| port.parse::<u16>().is_ok()),
        "{key}: {address:?} is no address: write HOST:PORT, as in {example}"
    );
    Ok(())
}
