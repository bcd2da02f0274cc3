//! `Folder`: where one run keeps its files; gone when the run is over.

use std::{
    io,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

pub(crate) struct Folder {
    path: PathBuf,
    name: String,
}

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let name = format!("ostrakon-demo-{}-{now}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let folder = Self { path, name };
        std::fs::create_dir_all(folder.journal())?;
        Ok(folder)
    }

    /// A name that no other run has.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub(crate) fn certificates(&self) -> PathBuf {
        self.path.join("certs")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the system's folder for such things.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
