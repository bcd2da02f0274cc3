//! `Certificates`: an authority for one run, thrown away with its folder.

use std::{path::Path, time::Duration};

use ostrakon_tls::{
    Identity, Role,
    make::{Authority, Validity},
};

use crate::certs::{CA_PEM, Folder};

/// Longer than anybody lets a demo run.
const LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

pub(crate) struct Certificates {
    folder: Folder,
    authority: Authority,
}

impl Certificates {
    pub(crate) fn new(dir: &Path, cluster: &str) -> anyhow::Result<Self> {
        let authority = Authority::new(cluster, Validity::for_the_next(LASTS))?;
        let folder = Folder::at(dir);
        folder.create()?;
        // Its key is written nowhere: nobody but this process issues anything.
        folder.write(CA_PEM, authority.cert_pem())?;
        Ok(Self { folder, authority })
    }

    /// Writes a certificate and its key where `Files::in_dir` looks for them.
    pub(crate) fn issue(&self, role: Role, name: &str) -> anyhow::Result<()> {
        let identity = Identity::new(self.authority.cluster(), role, name)?;
        let issued = self
            .authority
            .issue(&identity, Validity::for_the_next(LASTS))?;
        self.folder
            .write(&format!("{name}.pem"), &issued.cert_pem)?;
        self.folder
            .write_secret(&format!("{name}.key"), &issued.key_pem)
    }
}
