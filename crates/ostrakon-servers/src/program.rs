//! Where a server's program is, and who runs it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::StartError;

/// PostgreSQL's programs are not on the path of Debian: each version has a folder.
const POSTGRES_FOLDERS: &str = "/usr/lib/postgresql";

/// The program of a package.
pub(crate) fn find(program: &str, package: &'static str) -> Result<PathBuf, StartError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(postgres_folders());
    let mut found = folders.map(|folder| folder.join(program));
    found
        .find(|path| path.is_file())
        .ok_or_else(|| StartError::Missing {
            program: program.to_owned(),
            package,
        })
}

/// The newest version first.
fn postgres_folders() -> Vec<PathBuf> {
    let versions = fs::read_dir(POSTGRES_FOLDERS).into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| version(path));
    versions
        .into_iter()
        .rev()
        .map(|path| path.join("bin"))
        .collect()
}

fn version(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.parse().ok()
}

/// Somebody else to run a program as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// Whom to run a program as that refuses to be run by root; `None` if we are not root.
    pub(crate) fn instead_of_root(name: &str) -> Result<Option<Self>, StartError> {
        if number("-u", None)? != 0 {
            return Ok(None);
        }
        let (uid, gid) = (number("-u", Some(name))?, number("-g", Some(name))?);
        Ok(Some(Self { uid, gid }))
    }

    pub(crate) fn run(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    pub(crate) fn own(self, folder: &Path) -> Result<(), StartError> {
        let tried = format!("hand {} over", folder.display());
        std::os::unix::fs::chown(folder, Some(self.uid), Some(self.gid))
            .map_err(StartError::io(tried))
    }
}

/// Asks the `id` program, because the standard library does not know users.
fn number(what: &str, user: Option<&str>) -> Result<u32, StartError> {
    let tried = format!("ask `id {what} {}`", user.unwrap_or_default());
    let output = Command::new("id").arg(what).args(user).output();
    let output = output.map_err(StartError::io(tried.clone()))?;
    let number = String::from_utf8_lossy(&output.stdout).trim().parse();
    number.map_err(|_| StartError::Ended {
        program: tried,
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_program_names_its_package() {
        let error = find("no-such-server", "no-such-package").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no program `no-such-server`: install the Debian package no-such-package"
        );
    }

    #[test]
    fn newer_versions_come_first() {
        assert!(version(Path::new("/x/15")) > version(Path::new("/x/9")));
    }
}
