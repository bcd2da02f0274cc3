//! `ostrakon witness`: a peer that votes and hosts nothing, until it is told to stop.

mod options;

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use ostrakon_admin::{Admin, AdminSettings};
use ostrakon_council::Council;
use ostrakon_tls::Security;

pub(crate) use self::options::Options;
use crate::{Nonsense, serving};

/// How long another one may take to lead in its place.
const FAREWELL: Duration = Duration::from_secs(5);

/// Runs a witness.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    options.check().map_err(Nonsense)?;
    serving::begin_to_log(&options.log)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(options))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves until a signal comes.
async fn serve(options: &Options) -> anyhow::Result<()> {
    let mut signals = serving::Signals::new()?;
    let security = options.security()?;
    let council = tokio::select! {
        started = Council::start(options.council(security.clone())) => started.context("the witness came into no cluster")?,
        () = signals.stop() => return Ok(()),
    };
    let admin = admin(options, &council, &security).await?;
    let shown = admin.as_ref().map(|admin| serving::shown(admin, &security));
    announce(options, &council, shown);
    signals.stop().await;
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
    security: &Security,
) -> anyhow::Result<Option<Admin>> {
    let Some(listen) = &options.admin.listen else {
        return Ok(None);
    };
    let settings = AdminSettings {
        listen: listen.clone(),
        cluster: options.cluster.clone(),
        manager: options.name.clone(),
        token: serving::token(options.admin.token_file.as_deref())?,
        security: security.clone(),
        metrics: Some(serving::metrics()?),
        ..AdminSettings::default()
    };
    let admin = Admin::start(council.desk().clone(), settings).await?;
    Ok(Some(admin))
}

/// The one line that says where everything is.
fn announce(options: &Options, council: &Council, shown: Option<String>) {
    let shown = shown.map_or_else(String::new, |shown| format!("; {shown}"));
    let Options { name, cluster, .. } = options;
    let address = council.address();
    println!("witness {name} of cluster {cluster}: peers connect to {address}{shown}");
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
