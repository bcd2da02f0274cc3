//! Which crate may depend on which: the rules the compiler does not know.
//!
//! The core stays pure because it has nothing impure to call: no runtime, no clock, no other
//! crate of ours, and a clippy configuration that refuses what the standard library offers.
//! Programs are the top of the graph, so nothing may build on them. Only manifests are read
//! here; the code itself is judged by clippy.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::child::{cargo, workspace_root};

const CORE: &str = "ostrakon-core";
/// All that the core may use, and does: its build and normal dependencies are exactly these.
const CORE_DEPENDENCIES: [&str; 5] = ["md-5", "serde", "smol_str", "thiserror", "twox-hash"];
const CORE_CLIPPY: &str = "crates/ostrakon-core/clippy.toml";
const PROGRAMS: [&str; 2] = ["ostrakon-bench", "ostrakon-cli"];

/// Checks the workspace as it is; an error lists every rule that is broken.
pub(crate) fn check() -> anyhow::Result<()> {
    let output = cargo("metadata --no-deps --format-version 1".split(' ')).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {said}");
    let workspace = Workspace::from_metadata(&serde_json::from_slice(&output.stdout)?)?;
    let mut offences = workspace.offences();
    if !workspace_root().join(CORE_CLIPPY).is_file() {
        offences.push(format!(
            "{CORE_CLIPPY} is gone: it keeps clocks out of the core"
        ));
    }
    ensure!(offences.is_empty(), "{}", offences.join("\n       "));
    println!("{} crates keep the rules", workspace.crates.len());
    Ok(())
}

/// The crates of the workspace by name, each with what its manifest asks for.
struct Workspace {
    crates: BTreeMap<String, Dependencies>,
}

#[derive(Default)]
struct Dependencies {
    /// Part of what users build: normal and build dependencies.
    shipped: BTreeSet<String>,
    for_tests: BTreeSet<String>,
}

impl Dependencies {
    fn all(&self) -> impl Iterator<Item = &String> {
        self.shipped.union(&self.for_tests)
    }
}

impl Workspace {
    fn from_metadata(metadata: &Value) -> anyhow::Result<Self> {
        let packages = metadata["packages"].as_array();
        let packages = packages.context("cargo metadata lists no packages")?;
        let crates = packages.iter().map(named_dependencies);
        Ok(Self {
            crates: crates.collect::<anyhow::Result<_>>()?,
        })
    }

    fn offences(&self) -> Vec<String> {
        let core = self.core_offences();
        core.into_iter().chain(self.program_offences()).collect()
    }

    fn core_offences(&self) -> Vec<String> {
        let Some(core) = self.crates.get(CORE) else {
            return vec![format!("there is no crate {CORE} to check")];
        };
        let allowed = BTreeSet::from(CORE_DEPENDENCIES.map(String::from));
        let extra = core.shipped.difference(&allowed).map(|name| {
            format!("{CORE} must not depend on {name}: only {CORE_DEPENDENCIES:?} keep it pure")
        });
        let unused = allowed.difference(&core.shipped).map(|name| {
            format!("{CORE} no longer depends on {name}: shorten the list in xtask/src/purity.rs")
        });
        let ours = core.for_tests.iter();
        let ours = ours.filter(|name| self.crates.contains_key(*name));
        let ours = ours.map(|name| format!("{CORE} must not depend on {name}, even for tests"));
        extra.chain(unused).chain(ours).collect()
    }

    fn program_offences(&self) -> Vec<String> {
        let mut offences = Vec::new();
        for (name, dependencies) in &self.crates {
            let programs = dependencies.all();
            for program in programs.filter(|used| PROGRAMS.contains(&used.as_str())) {
                offences.push(format!("{name} must not depend on the program {program}"));
            }
        }
        offences
    }
}

fn named_dependencies(package: &Value) -> anyhow::Result<(String, Dependencies)> {
    let mut dependencies = Dependencies::default();
    let listed = package["dependencies"].as_array();
    for dependency in listed.context("a package lists no dependencies")? {
        let list = match dependency["kind"].as_str() {
            Some("dev") => &mut dependencies.for_tests,
            _ => &mut dependencies.shipped,
        };
        list.insert(name_of(dependency)?);
    }
    Ok((name_of(package)?, dependencies))
}

fn name_of(thing: &Value) -> anyhow::Result<String> {
    let name = thing["name"].as_str();
    Ok(name.context("cargo metadata leaves out a name")?.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The metadata of a crate, each dependency written as `name` or `kind:name`.
    fn a_crate(name: &str, dependencies: &[&str]) -> Value {
        let dependencies = dependencies.iter().map(|text| match text.split_once(':') {
            Some((kind, name)) => json!({"name": name, "kind": kind}),
            None => json!({"name": text, "kind": null}),
        });
        json!({"name": name, "dependencies": dependencies.collect::<Vec<_>>()})
    }

    fn core_with(more: &[&str]) -> Value {
        a_crate(CORE, &[&CORE_DEPENDENCIES, more].concat())
    }

    fn offences(crates: &[Value]) -> Vec<String> {
        let metadata = json!({"packages": crates, "version": 1});
        Workspace::from_metadata(&metadata).unwrap().offences()
    }

    #[test]
    fn workspace_that_keeps_the_rules_has_no_offences() {
        let core = core_with(&["dev:proptest"]);
        let library = a_crate("ostrakon", &["ostrakon-core", "tokio"]);
        let cli = a_crate("ostrakon-cli", &["ostrakon", "clap"]);
        assert_eq!(offences(&[core, library, cli]), [""; 0]);
    }

    #[test]
    fn core_with_a_runtime_is_refused() {
        for dependency in ["tokio", "build:tokio"] {
            let found = offences(&[core_with(&[dependency])]);
            assert_eq!(found.len(), 1, "{dependency}: {found:?}");
            assert!(found[0].starts_with("ostrakon-core must not depend on tokio"));
        }
    }

    #[test]
    fn allowed_dependency_that_is_gone_leaves_the_list() {
        let core = a_crate(CORE, &CORE_DEPENDENCIES[1..]);
        let expected =
            "ostrakon-core no longer depends on md-5: shorten the list in xtask/src/purity.rs";
        assert_eq!(offences(&[core]), [expected]);
    }

    #[test]
    fn core_uses_no_crate_of_ours_even_in_tests() {
        let core = core_with(&["dev:ostrakon"]);
        let found = offences(&[core, a_crate("ostrakon", &[])]);
        assert_eq!(
            found,
            ["ostrakon-core must not depend on ostrakon, even for tests"]
        );
    }

    #[test]
    fn nothing_builds_on_a_program() {
        let library = a_crate("ostrakon", &["dev:ostrakon-bench"]);
        let example = a_crate("hello", &["ostrakon-cli"]);
        let found = offences(&[core_with(&[]), library, example]);
        let expected = [
            "hello must not depend on the program ostrakon-cli",
            "ostrakon must not depend on the program ostrakon-bench",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn workspace_without_the_core_is_not_called_pure() {
        let found = offences(&[a_crate("ostrakon", &[])]);
        assert_eq!(found, ["there is no crate ostrakon-core to check"]);
    }

    #[test]
    fn foreign_json_is_an_error() {
        assert!(Workspace::from_metadata(&json!({"packages": [{}]})).is_err());
        assert!(Workspace::from_metadata(&json!([])).is_err());
    }
}
