//! `ostrakon certs`: the authority of a cluster, and a certificate for everybody in it.
//!
//! Each command makes one thing, says what it wrote and what comes next. What a certificate holds is decided in
//! `ostrakon-tls`; here are the files: none is replaced that would be missed, and none is ever half written.

mod folder;
mod options;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use ostrakon_tls::{
    Identity, Role,
    make::{Authority, Issued, Validity, identity_in},
};

pub(crate) use folder::Folder;
pub(crate) use options::Options;

use options::{Ca, DEFAULT_DIR, Leaf, What};

/// Does what the command says.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    match &options.what {
        What::Ca(ca) => make_authority(ca)?,
        What::Node(leaf) => issue(Role::Node, leaf)?,
        What::Manager(leaf) => issue(Role::Manager, leaf)?,
        What::Client(leaf) => issue(Role::Client, leaf)?,
        What::Admin(leaf) => issue(Role::Admin, leaf)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make_authority(ca: &Ca) -> anyhow::Result<()> {
    let folder = Folder::at(&ca.dir);
    let former = former_authority(&folder)?;
    if let Some(file) = &former
        && !ca.force
    {
        bail!(
            "{} exists already: whatever that authority issued would be refused if another took its place. \
             To issue more certificates, use it as it is; to start over and issue all of them again, add --force",
            file.display()
        );
    }
    let authority = Authority::new(&ca.cluster, Validity::for_the_next(ca.lasts()))?;
    folder.create()?;
    folder.write(CA_PEM, authority.cert_pem())?;
    folder.write_secret(CA_KEY, &authority.key_pem())?;
    tell_of_authority(&folder, &authority);
    if former.is_some() {
        println!("What the former authority issued is refused from now on: issue it again.");
    }
    let dir = dir_argument(&folder);
    println!("\nNext: ostrakon certs node node-1{dir}");
    Ok(())
}

fn former_authority(folder: &Folder) -> anyhow::Result<Option<PathBuf>> {
    for file in [CA_PEM, CA_KEY] {
        if folder.has(file)? {
            return Ok(Some(folder.path(file)));
        }
    }
    Ok(None)
}

fn tell_of_authority(folder: &Folder, authority: &Authority) {
    let (pem, key) = (folder.path(CA_PEM), folder.path(CA_KEY));
    println!(
        "Wrote {}: the authority of cluster {}, for everybody in it to trust",
        pem.display(),
        authority.cluster()
    );
    println!(
        "Wrote {}: its private key, for you alone; who has it can join as anybody, and no node needs it",
        key.display()
    );
    println!("Valid until {}.", authority.expires_at());
}

fn issue(role: Role, leaf: &Leaf) -> anyhow::Result<()> {
    let folder = Folder::at(&leaf.dir);
    let authority = authority_in(&folder)?;
    let identity = Identity::new(authority.cluster(), role, &leaf.name)?;
    let files = LeafFiles::of(&leaf.name);
    let verb = files.verb(&folder, &identity)?;
    let issued = authority
        .issue(&identity, Validity::for_the_next(leaf.lasts()))
        .with_context(|| format!("cannot issue with {}", folder.path(CA_PEM).display()))?;
    // In this order: a certificate without its key is replaced by the next attempt, a key alone might be anything.
    folder.write(&files.pem, &issued.cert_pem)?;
    folder.write_secret(&files.key, &issued.key_pem)?;

    let (pem, key) = (folder.path(&files.pem), folder.path(&files.key));
    println!("{verb} {}: the certificate of {identity}", pem.display());
    println!("{verb} {}: its private key, for nobody else", key.display());
    tell_end(&issued, &authority);
    tell_next(&folder, &identity);
    Ok(())
}

fn tell_end(issued: &Issued, authority: &Authority) {
    let end = issued.expires_at;
    if end == authority.expires_at() {
        println!("Valid until {end}, when its authority ends: make a new one before that.");
    } else {
        println!("Valid until {end}.");
    }
}

fn tell_next(folder: &Folder, identity: &Identity) {
    println!(
        "\nNext: copy both files and {} to where {} runs. If it runs already, it takes them up without a restart.",
        folder.path(CA_PEM).display(),
        identity.name()
    );
}

fn authority_in(folder: &Folder) -> anyhow::Result<Authority> {
    for file in [CA_PEM, CA_KEY] {
        if !folder.has(file)? {
            bail!(
                "{} does not exist: make an authority first with `ostrakon certs ca --cluster NAME{}`, \
                 or say with --dir where it is",
                folder.path(file).display(),
                dir_argument(folder)
            );
        }
    }
    let (pem, key) = (folder.read(CA_PEM)?, folder.read(CA_KEY)?);
    Authority::from_pem(&pem, &key).with_context(|| {
        let (pem, key) = (folder.path(CA_PEM), folder.path(CA_KEY));
        format!("cannot issue with {} and {}", pem.display(), key.display())
    })
}

/// The two files of a certificate. One that is there already is only replaced by its own successor.
struct LeafFiles {
    pem: String,
    key: String,
}

impl LeafFiles {
    fn of(name: &str) -> Self {
        Self {
            pem: format!("{name}.pem"),
            key: format!("{name}.key"),
        }
    }

    /// What is about to be done to the files.
    fn verb(&self, folder: &Folder, identity: &Identity) -> anyhow::Result<&'static str> {
        let (pem, key) = (folder.path(&self.pem), folder.path(&self.key));
        if folder.has(&self.pem)? {
            self.check_successor(folder, identity)?;
            return Ok("Renewed");
        }
        if folder.has(&self.key)? {
            bail!(
                "{} exists, but {} does not: it may be the key of something else, so move it away first",
                key.display(),
                pem.display()
            );
        }
        Ok("Wrote")
    }

    fn check_successor(&self, folder: &Folder, identity: &Identity) -> anyhow::Result<()> {
        let pem = folder.path(&self.pem);
        let pem = pem.display();
        let present = identity_in(&folder.read(&self.pem)?)
            .with_context(|| format!("{pem} is in the way: move it away, or use another --dir"))?;
        if present != *identity {
            bail!(
                "{pem} stands for {present}, not for {identity}: choose another name, use another --dir, or move it \
                 away"
            );
        }
        Ok(())
    }
}

/// What to add to a command so that it works in the same folder.
fn dir_argument(folder: &Folder) -> String {
    if folder.dir() == Path::new(DEFAULT_DIR) {
        return String::new();
    }
    format!(" --dir {}", folder.dir().display())
}

/// The authority's own certificate.
pub(crate) const CA_PEM: &str = "ca.pem";
const CA_KEY: &str = "ca.key";
