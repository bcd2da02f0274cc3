//! `ostrakon manager`: a Shard Manager and its admin API, until it is told to stop.

mod choices;
mod config;
mod foreign;
mod keys;
mod options;
mod platform;
mod printed;
#[cfg(test)]
mod reference;
mod span;
mod tables;

use std::{env, path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use ostrakon_admin::{Admin, AdminSettings, Token};
use ostrakon_manager::Manager;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

pub(crate) use self::options::Options;
use self::{choices::Witness, config::Config, printed::without_password};

/// Old samples are put together so often.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs a manager, or prints how it would run.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let config = match options.keys().and_then(Config::new) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("error: {error:#}");
            return Ok(ExitCode::from(2));
        }
    };
    if options.print_config {
        print!("{}", printed::printed(&config));
        return Ok(ExitCode::SUCCESS);
    }
    begin_to_log(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let input_ends = async {
        match options.until_input_ends {
            true => drop(tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await),
            false => std::future::pending().await,
        }
    };
    let served = runtime.block_on(serve(&config, input_ends));
    // Whoever reads the input cannot be interrupted; nobody waits for that.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

fn begin_to_log(config: &Config) -> anyhow::Result<()> {
    let targets: Targets = config.log.parse().context("log")?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .init();
    Ok(())
}

/// Serves until a signal comes, or `enough` does.
async fn serve(config: &Config, enough: impl Future<Output = ()>) -> anyhow::Result<()> {
    // Before anything is started, lest a signal that comes early ends the process at once.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    make_data_dir(config)?;
    let metrics = PrometheusBuilder::new()
        .install_recorder()
        .context("metrics")?;
    let mut settings = config.settings()?;
    if config.health == Witness::Kubernetes {
        settings.health = platform::health().await?;
    }
    let admin = AdminSettings {
        listen: config.admin_listen.clone(),
        cluster: config.cluster.clone(),
        manager: config.name.clone(),
        token: token(config)?,
        security: settings.security.clone(),
        metrics: Some(rendered(metrics)),
        ..AdminSettings::default()
    };
    let manager = match settings.storage.starts_with("etcd://") {
        true => Manager::start_over(platform::etcd(&settings).await?, settings).await?,
        false => Manager::start(settings).await?,
    };
    let admin = Admin::start(manager.desk().clone(), admin).await?;
    announce(config, &manager, &admin);
    tokio::select! {
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
        _ = interrupt.recv() => tracing::info!("stopping: SIGINT"),
        () = enough => tracing::info!("stopping: the input has ended"),
    }
    admin.stop().await;
    manager.stop().await;
    Ok(())
}

/// Makes the folder if the log is to be in it; any other place for a log is somebody else's to make.
fn make_data_dir(config: &Config) -> anyhow::Result<()> {
    let dir = &config.data_dir;
    let file = config.storage.strip_prefix("file:").map(Path::new);
    if file.is_some_and(|file| file.parent() == Some(dir)) {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("data_dir: cannot make the folder {}", dir.display()))?;
    }
    Ok(())
}

/// The one line that says where everything is.
fn announce(config: &Config, manager: &Manager, admin: &Admin) {
    let scheme = if config.tls.is_some() {
        "https"
    } else {
        "http"
    };
    println!(
        "manager {} of cluster {}: nodes connect to {}; admin API at {scheme}://{}; log in {}",
        config.name,
        config.cluster,
        manager
            .address()
            .map_or_else(String::new, |address| address.to_string()),
        admin.address(),
        without_password(&config.storage)
    );
}

fn token(config: &Config) -> anyhow::Result<Option<Token>> {
    match (&config.admin_token_file, env::var("OSTRAKON_ADMIN_TOKEN")) {
        (Some(file), _) => Ok(Some(Token::read(file).context("admin.token_file")?)),
        (None, Ok(text)) => Ok(Some(Token::new(&text).context("OSTRAKON_ADMIN_TOKEN")?)),
        (None, Err(_)) => Ok(None),
    }
}

fn rendered(metrics: PrometheusHandle) -> ostrakon_admin::Render {
    let upkeep = metrics.clone();
    tokio::spawn(async move {
        let mut times = tokio::time::interval(UPKEEP);
        loop {
            times.tick().await;
            upkeep.run_upkeep();
        }
    });
    Arc::new(move || metrics.render())
}
