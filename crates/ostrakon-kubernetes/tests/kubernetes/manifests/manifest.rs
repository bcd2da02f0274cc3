//! `Manifest`: one document of a file, as JSON.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes");

#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) file: PathBuf,
    pub(super) json: Value,
}

impl Manifest {
    /// All that describe an object, of every file.
    pub(super) fn all() -> Vec<Self> {
        let (_, objects) = documents();
        assert!(!objects.is_empty());
        objects
    }

    /// Those that say which files belong together.
    pub(super) fn kustomizations() -> Vec<Self> {
        let (kustomizations, _) = documents();
        kustomizations
    }

    /// All of one kind.
    pub(super) fn of_kind(kind: &str) -> Vec<Self> {
        let mut found = Self::all();
        found.retain(|manifest| manifest.kind() == kind);
        assert!(!found.is_empty(), "there is no {kind}");
        found
    }

    /// The one of this kind and name, if there is one.
    pub(super) fn named(kind: &str, name: &str) -> Option<Self> {
        let mut found = Self::of_kind(kind);
        found.retain(|manifest| manifest.name() == name);
        found.pop()
    }

    pub(super) fn kind(&self) -> &str {
        text(&self.json["kind"])
    }

    pub(super) fn name(&self) -> &str {
        text(&self.json["metadata"]["name"])
    }

    /// For messages: `StatefulSet counter`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.kind(), self.name())
    }

    /// What is at this place, such as `/spec/template`; null if nothing is.
    pub(super) fn at(&self, place: &str) -> &Value {
        self.json.pointer(place).unwrap_or(&Value::Null)
    }
}

/// What is a text, or the test ends.
#[track_caller]
pub(super) fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
}

/// The items of a list; none if there is no list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The entries of an object; none if there is no object.
pub(super) fn entries(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Whether labels are what a selector (`matchLabels`, or those of a service) asks for. One that asks for nothing selects nothing here.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = entries(selector);
    !wanted.is_empty() && wanted.iter().all(|(name, value)| labels[name] == *value)
}

/// Those that make up others, and those that are objects.
fn documents() -> (Vec<Manifest>, Vec<Manifest>) {
    let mut files = Vec::new();
    find(Path::new(ROOT), &mut files);
    files.sort();
    let all = files.into_iter().flat_map(|file| {
        let text = fs::read_to_string(&file).expect("it was just found");
        let read = serde_saphyr::from_multiple::<Value>(&text);
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let manifest = move |json| Manifest {
            file: file.clone(),
            json,
        };
        read.into_iter().map(manifest)
    });
    all.partition(|manifest| manifest.kind() == "Kustomization")
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        match path.is_dir() {
            true => find(&path, files),
            false => files.push(path),
        }
    }
}
