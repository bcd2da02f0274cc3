//! `ostrakon witness`: a peer that votes and hosts nothing, until it is told to stop.

mod options;

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use metrics_exporter_prometheus::PrometheusBuilder;
use ostrakon_admin::{Admin, AdminSettings};
use ostrakon_council::Council;
use ostrakon_tls::Security;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

pub(crate) use self::options::Options;

/// How long another one may take to lead in its place.
const FAREWELL: Duration = Duration::from_secs(5);
/// Old samples are put together so often.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs a witness.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let checked = options.check().and_then(|()| options.log_targets());
    let targets = match checked {
        Ok(targets) => targets,
        Err(error) => {
            eprintln!("error: {error:#}");
            return Ok(ExitCode::from(2));
        }
    };
    begin_to_log(targets);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(options))?;
    Ok(ExitCode::SUCCESS)
}

fn begin_to_log(targets: Targets) {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry();
    registry.with(targets).with(lines).init();
}

/// Serves until a signal comes.
async fn serve(options: &Options) -> anyhow::Result<()> {
    // Before anything is started, lest a signal that comes early ends the process at once.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let security = options.security()?;
    let stopped = async {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("leaving: SIGTERM"),
            _ = interrupt.recv() => tracing::info!("leaving: SIGINT"),
        }
    };
    tokio::pin!(stopped);
    let council = tokio::select! {
        started = Council::start(options.council(security.clone())) => started.context("the witness came into no cluster")?,
        () = &mut stopped => return Ok(()),
    };
    let admin = admin(options, &council, security).await?;
    announce(options, &council, admin.as_ref());
    stopped.await;
    leave(&council).await;
    if let Some(admin) = admin {
        admin.stop().await;
    }
    council.stop().await;
    Ok(())
}

async fn admin(
    options: &Options,
    council: &Council,
    security: Security,
) -> anyhow::Result<Option<Admin>> {
    let Some(listen) = options.admin_listen() else {
        return Ok(None);
    };
    let settings = AdminSettings {
        listen: listen.to_owned(),
        cluster: options.cluster.clone(),
        manager: options.name.clone(),
        token: options.token()?,
        security,
        metrics: Some(metrics()?),
        ..AdminSettings::default()
    };
    let admin = Admin::start(council.desk().clone(), settings).await?;
    Ok(Some(admin))
}

fn metrics() -> anyhow::Result<ostrakon_admin::Render> {
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

/// The one line that says where everything is.
fn announce(options: &Options, council: &Council, admin: Option<&Admin>) {
    let admin = admin.map(|admin| {
        let scheme = options.scheme();
        format!("; admin API at {scheme}://{}", admin.address())
    });
    println!(
        "witness {} of cluster {}: peers connect to {}{}",
        options.name,
        options.cluster,
        council.address(),
        admin.unwrap_or_default()
    );
}

/// Says that it goes, which lets whoever leads take its vote back. If it leads itself, another one has to do so first.
async fn leave(council: &Council) {
    council.leave().await;
    let mut leads = council.log().leads();
    let another_leads = leads.wait_for(|leads| !leads);
    if tokio::time::timeout(FAREWELL, another_leads).await.is_err() {
        tracing::warn!("nobody else leads yet: the others elect somebody when they miss it");
    }
}
