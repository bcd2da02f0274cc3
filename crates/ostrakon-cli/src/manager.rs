//! `ostrakon manager`: a Shard Manager and its admin API, until it is told to stop.

mod choices;
mod config;
mod foreign;
mod keys;
mod lease_keys;
mod options;
mod platform;
mod printed;
#[cfg(test)]
mod reference;

use std::{path::Path, process::ExitCode};

use anyhow::Context;
use ostrakon_admin::{Admin, AdminSettings};
use ostrakon_manager::Manager;

pub(crate) use self::options::Options;
use self::{choices::Witness, config::Config, printed::without_password};
use crate::{Nonsense, serving};

/// Runs a manager, or prints how it would run.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let config = options.keys().and_then(Config::new).map_err(Nonsense)?;
    if options.print_config {
        print!("{}", printed::printed(&config));
        return Ok(ExitCode::SUCCESS);
    }
    serving::begin_to_log(&config.log)?;
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

/// Serves until a signal comes, or `enough` does.
async fn serve(config: &Config, enough: impl Future<Output = ()>) -> anyhow::Result<()> {
    let mut signals = serving::Signals::new()?;
    make_data_dir(config)?;
    let metrics = serving::metrics()?;
    let mut settings = config.settings()?;
    if config.health == Witness::Kubernetes {
        settings.health = platform::health().await?;
    }
    let admin = AdminSettings {
        listen: config.admin_listen.clone(),
        cluster: config.cluster.clone(),
        manager: config.name.clone(),
        token: serving::token(config.admin_token_file.as_deref())?,
        security: settings.security.clone(),
        metrics: Some(metrics),
        ..AdminSettings::default()
    };
    let security = settings.security.clone();
    let manager = match settings.storage.starts_with("etcd://") {
        true => Manager::start_over(platform::etcd(&settings).await?, settings).await?,
        false => Manager::start(settings).await?,
    };
    let admin = Admin::start(manager.desk().clone(), admin).await?;
    announce(config, &manager, &serving::shown(&admin, &security));
    tokio::select! {
        () = signals.stop() => {}
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
fn announce(config: &Config, manager: &Manager, shown: &str) {
    println!(
        "manager {} of cluster {}: nodes connect to {}; {shown}; log in {}",
        config.name,
        config.cluster,
        manager
            .address()
            .map_or_else(String::new, |address| address.to_string()),
        without_password(&config.storage)
    );
}
