//! `Folder`: a temporary directory that goes with its value, on the common disk or a small one of its own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that nobody else has. It is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    disk: Disk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    Common,
    /// In memory, and only mounted there.
    Small,
}

impl Folder {
    /// A new one, whose name tells whose it is.
    pub fn new(of: &str) -> io::Result<Self> {
        loop {
            let name = format!("ostrakon-{of}-{:08x}", fastrand::u32(..));
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let disk = Disk::Common;
                    return Ok(Self { path, disk });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A new one that has only so much room. Takes the rights of root.
    pub fn on_small_disk(of: &str, mebibytes: u32) -> io::Result<Self> {
        let mut folder = Self::new(of)?;
        let size = format!("size={mebibytes}m");
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&folder.path))?;
        folder.disk = Disk::Small;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves no room on a small disk.
    ///
    /// # Panics
    ///
    /// On the common disk.
    pub fn fill(&self) -> io::Result<()> {
        assert_eq!(self.disk, Disk::Small, "others need the common disk");
        let mut filler = File::create(self.filler())?;
        // Smaller and smaller, until not a byte fits.
        for size in [1 << 20, 1 << 12, 1] {
            let piece = vec![1; size];
            while filler.write_all(&piece).is_ok() {}
        }
        Ok(())
    }

    /// Makes room again.
    pub fn clear(&self) -> io::Result<()> {
        fs::remove_file(self.filler())
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(said.trim().to_owned())),
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed, and a test must not fail for it.
        if self.disk == Disk::Small {
            let _ = run(Command::new("umount").arg(&self.path));
        }
        let _ = fs::remove_dir_all(&self.path);
    }
}
