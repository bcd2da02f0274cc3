//! `Line`: a node's way to the manager, which can be cut.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::AbortHandle,
};

/// Passes everything on to the manager, until it is cut.
pub(crate) struct Line {
    address: SocketAddr,
    is_cut: Arc<watch::Sender<bool>>,
    task: AbortHandle,
}

impl Line {
    pub(crate) async fn to(manager: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let is_cut = Arc::new(watch::Sender::new(false));
        let (manager, cut) = (manager.to_owned(), Arc::clone(&is_cut));
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass_on(near, manager.clone(), cut.subscribe()));
            }
        });
        Ok(Self {
            address,
            is_cut,
            task: task.abort_handle(),
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    pub(crate) fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A cut line is silent: nobody is told that it is cut, as in a real network.
async fn pass_on(mut near: TcpStream, manager: String, mut cut: watch::Receiver<bool>) {
    if cut.wait_for(|cut| !cut).await.is_err() {
        return;
    }
    let Ok(mut far) = TcpStream::connect(manager).await else {
        return;
    };
    let is_cut = async {
        let _ = cut.wait_for(|cut| *cut).await;
    };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        () = is_cut => {
            // Both ends stay open, and hear nothing any more.
            let _ = cut.wait_for(|cut| !cut).await;
        }
    }
}
