//! `Folder`: where the certificates of a cluster lie.
//!
//! A file is there as a whole or not at all: it is written under another name first. Keys are readable by their owner
//! alone from the first byte on.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;

/// A folder of certificates and keys. It need not exist yet.
pub(crate) struct Folder {
    dir: PathBuf,
}

impl Folder {
    pub(crate) fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// Whether something of that name is there. A link that leads nowhere is in the way all the same.
    pub(crate) fn has(&self, file: &str) -> anyhow::Result<bool> {
        match self.path(file).symlink_metadata() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| {
                let dir = self.dir.display();
                format!("cannot look into the folder {dir}: choose another with --dir")
            }),
        }
    }

    /// Makes it, for its owner alone. One that exists keeps the rights it has.
    pub(crate) fn create(&self) -> anyhow::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.dir).with_context(|| {
            let dir = self.dir.display();
            format!("cannot make the folder {dir}: choose another with --dir")
        })
    }

    pub(crate) fn read(&self, file: &str) -> anyhow::Result<String> {
        let path = self.path(file);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes a file that everybody may read.
    pub(crate) fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        self.replace(file, text, 0o644)
    }

    /// Writes a file that only its owner may read.
    pub(crate) fn write_secret(&self, file: &str, text: &str) -> anyhow::Result<()> {
        self.replace(file, text, 0o600)
    }

    fn replace(&self, file: &str, text: &str, mode: u32) -> anyhow::Result<()> {
        let (new, path) = (self.path(&format!(".{file}.new")), self.path(file));
        write_new(&new, text, mode)
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| {
                let path = path.display();
                format!(
                    "cannot write {path}: choose another folder with --dir, or correct its rights"
                )
            })
    }
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create(path, mode)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn create(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).open(path)
}

/// Without modes, the rights of the folder are the rights of its files.
#[cfg(not(unix))]
fn create(path: &Path, _: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
