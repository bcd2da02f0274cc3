//! `Manager`: a running Shard Manager.

use std::{
    net::SocketAddr,
    sync::{Arc, RwLock},
};

use ostrakon_control::Caller;
use ostrakon_core::{Index, InvalidId, NodeName};
use ostrakon_storage::{OpenError, Storage};
use ostrakon_tls::{Role, Unfit};
use thiserror::Error;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
};

use crate::{
    Desk, ManagerSettings,
    attendant::Attendant,
    board::Board,
    door::Door,
    engine::{Engine, EngineParts, Input},
    keeper::{self, Keeper},
    leading::{self, Leading},
    view::View,
};

/// How many inputs may wait for the engine; callers wait when there are more.
const WAITING: usize = 16_384;

/// A running manager. It stops when this is dropped.
pub struct Manager {
    address: Option<SocketAddr>,
    attendant: Arc<Attendant>,
    desk: Desk,
    tasks: JoinSet<()>,
    engine: AbortHandle,
}

/// Why a manager did not start. Nothing runs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The manager's name cannot be used.
    #[error("a name cannot be used")]
    InvalidName(#[from] InvalidId),
    /// The log cannot be opened.
    #[error("the log cannot be opened")]
    Storage(#[from] OpenError),
    /// It cannot listen on this address. Choose another, or end what uses it.
    #[error("cannot listen on `{address}`: {cause}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        cause: String,
    },
    /// Its connections cannot be protected as they have to be.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

impl Manager {
    /// Starts a manager. It leads as soon as no other does.
    pub async fn start(settings: ManagerSettings) -> Result<Self, StartError> {
        let storage = ostrakon_storage::open(
            &settings.storage,
            &settings.cluster,
            settings.storage_settings,
        )
        .await?;
        let leading = match settings.storage.split_once(':') {
            Some(("file" | "memory", _)) => Leading::Alone,
            Some(_) | None => Leading::BySuccession,
        };
        Self::listening(storage, leading, settings).await
    }

    /// Starts a manager over a storage that is open already, and that other managers may use as well.
    pub async fn start_over(
        storage: Arc<dyn Storage>,
        settings: ManagerSettings,
    ) -> Result<Self, StartError> {
        Self::listening(storage, Leading::BySuccession, settings).await
    }

    /// Starts a manager that leads exactly while `leads` says so, because its peers have elected it. It does not listen: whoever does gives
    /// it the callers ([`receive`](Self::receive)). Of the settings only name, rules and health matter. To be called within a runtime.
    pub fn among_peers(
        storage: Arc<dyn Storage>,
        leads: watch::Receiver<bool>,
        settings: ManagerSettings,
    ) -> Result<Self, StartError> {
        let me = NodeName::new(&settings.name)?;
        Ok(Self::run(me, storage, Leading::While(leads), settings))
    }

    /// Listens to a caller that somebody else has greeted.
    pub fn receive(&self, caller: Caller) {
        let attendant = Arc::clone(&self.attendant);
        tokio::spawn(async move { attendant.attend(caller).await });
    }

    /// Tells clients where those are who may decide.
    pub async fn name_deciders(&self, deciders: Vec<String>) {
        // One that has ended tells nobody.
        let _ = self.desk.inputs.send(Input::Deciders(deciders)).await;
    }

    async fn listening(
        storage: Arc<dyn Storage>,
        leading: Leading,
        settings: ManagerSettings,
    ) -> Result<Self, StartError> {
        let me = NodeName::new(&settings.name)?;
        let (listener, address) = listen(&settings).await?;
        let mut manager = Self::run(me, storage, leading, settings.clone());
        manager.address = Some(address);
        let door = Door::new(&settings, Arc::clone(&manager.attendant));
        manager.tasks.spawn(Arc::new(door).open(listener));
        if let Some(certificates) = settings.security.certificates() {
            let every = std::time::Duration::from_secs(5);
            let watched = ostrakon_tls::watch(Arc::clone(certificates), every);
            manager.tasks.spawn(watched);
        }
        Ok(manager)
    }

    fn run(
        me: NodeName,
        storage: Arc<dyn Storage>,
        leading: Leading,
        settings: ManagerSettings,
    ) -> Self {
        let (inputs, incoming) = mpsc::channel(WAITING);
        let (applied, reading) = watch::channel(Index::default());
        let (events, following) = watch::channel(0);
        let view = Arc::new(RwLock::new(View::default()));
        let engine = Engine::new(EngineParts {
            me,
            policy: settings.policy,
            other_rules: settings.other_rules,
            patience: settings.patience,
            leading: leading.clone(),
            health: settings.health,
            keeper: Keeper::new(Arc::clone(&storage), inputs.clone()),
            view: Arc::clone(&view),
            inputs: inputs.clone(),
            applied,
            events,
        });
        let board = Arc::new(Board::default());
        let mut tasks = JoinSet::new();
        let engine = tasks.spawn(engine.run(incoming));
        tasks.spawn(keeper::watch(storage, reading, inputs.clone()));
        if let Leading::While(says) = leading {
            tasks.spawn(leading::follow(says, inputs.clone()));
        }
        Self {
            address: None,
            attendant: Arc::new(Attendant::new(
                inputs.clone(),
                Arc::clone(&view),
                Arc::clone(&board),
            )),
            desk: Desk {
                view,
                inputs,
                events: following,
                board,
            },
            tasks,
            engine,
        }
    }

    /// Where nodes find it; `None` if it does not listen itself.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where operators look and wish.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Ends everything. Nodes go on; another manager takes over when there is one.
    pub async fn stop(mut self) {
        self.engine.abort();
        self.tasks.shutdown().await;
    }
}

async fn listen(settings: &ManagerSettings) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |cause: std::io::Error| StartError::Listen {
        address: settings.listen.clone(),
        cause: cause.to_string(),
    };
    let listener = TcpListener::bind(&settings.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    settings
        .security
        .check(&settings.cluster, Role::Manager, &settings.name, address)?;
    Ok((listener, address))
}
