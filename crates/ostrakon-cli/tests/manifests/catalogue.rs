//! `Catalogue`: what `docs/metrics.md` says of each metric. The sources record exactly these, under these types.
//!
//! A name must stand in the macro that records it, so that it can be found by reading. Which labels a metric has is not read from the
//! sources: that is compared where a real server has read them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// What an exporter puts behind the name of a histogram.
const OF_A_HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];

#[test]
fn the_catalogue_has_the_metrics_of_the_sources_and_no_others() {
    let listed = Catalogue::read().0.into_iter();
    let listed: BTreeSet<_> = listed.map(|(name, metric)| (name, metric.of)).collect();
    let recorded = recorded();
    let forgotten: Vec<_> = recorded.difference(&listed).collect();
    let invented: Vec<_> = listed.difference(&recorded).collect();
    assert!(
        forgotten.is_empty(),
        "add to docs/metrics.md: {forgotten:?}"
    );
    assert!(invented.is_empty(), "nothing records these: {invented:?}");
}

#[test]
fn only_a_histogram_has_names_with_an_ending() {
    let catalogue = Catalogue::of(
        "| `a_total`, `b_total` | counter | kind, node | what |\n| `c_seconds` | histogram | | what |\n",
    );
    for (name, metric) in [
        ("a_total", Some("a_total")),
        ("b_total", Some("b_total")),
        ("c_seconds", Some("c_seconds")),
        ("c_seconds_bucket", Some("c_seconds")),
        ("a_total_count", None),
        ("c", None),
    ] {
        assert_eq!(catalogue.name_of(name), metric, "{name}");
    }
    let labels = ["kind".to_owned(), "node".to_owned()];
    assert_eq!(catalogue.0["a_total"].labels, BTreeSet::from(labels));
    assert!(catalogue.0["c_seconds"].labels.is_empty());
}

pub(crate) struct Catalogue(pub(crate) BTreeMap<String, Metric>);

pub(crate) struct Metric {
    /// `counter`, `gauge` or `histogram`, as the macros are called.
    of: String,
    pub(crate) labels: BTreeSet<String>,
}

impl Catalogue {
    pub(crate) fn read() -> Self {
        let page = fs::read_to_string(root().join("docs/metrics.md"));
        let catalogue = Self::of(&page.expect("a page of the book"));
        assert!(!catalogue.0.is_empty(), "no table of metrics was found");
        catalogue
    }

    fn of(page: &str) -> Self {
        let mut metrics = BTreeMap::new();
        for line in page.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let ["", names, of, labels, _, ""] = cells[..] else {
                continue;
            };
            let labels = labels.split(',').map(str::trim);
            let labels = labels.filter(|label| !label.is_empty());
            let labels: BTreeSet<_> = labels.map(str::to_owned).collect();
            // What is between backticks is a name.
            for name in names.split('`').skip(1).step_by(2) {
                let (of, labels) = (of.to_owned(), labels.clone());
                let twice = metrics.insert(name.to_owned(), Metric { of, labels });
                assert!(twice.is_none(), "{name} is listed twice");
            }
        }
        Self(metrics)
    }

    /// The metric that a name in an expression or of a series belongs to.
    pub(crate) fn name_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        if self.0.contains_key(name) {
            return Some(name);
        }
        let mut endings = OF_A_HISTOGRAM.iter();
        let base = endings.find_map(|ending| name.strip_suffix(ending))?;
        let metric = self.0.get(base)?;
        (metric.of == "histogram").then_some(base)
    }

    /// The metrics that a text is about, which must all be listed.
    pub(crate) fn named_in<'t>(&self, text: &'t str) -> BTreeSet<&'t str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let words = words.filter(|word| word.starts_with("ostrakon_"));
        let listed = words.map(|word| {
            let name = self.name_of(word);
            name.unwrap_or_else(|| panic!("{word} is not in docs/metrics.md: {text}"))
        });
        listed.collect()
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every metric that some crate records: its name, and the macro.
fn recorded() -> BTreeSet<(String, String)> {
    let crates = fs::read_dir(root().join("crates")).expect("the crates");
    let mut folders: Vec<_> = crates
        .map(|entry| entry.expect("a readable folder").path().join("src"))
        .collect();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.extend(recorded_in(&path));
            }
        }
    }
    found
}

fn recorded_in(file: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(file).expect("a readable source");
    let mut found = Vec::new();
    for of in ["counter", "gauge", "histogram"] {
        for call in text.split(&format!("{of}!(")).skip(1) {
            let name = call.trim_start().strip_prefix('"');
            let name = name.and_then(|name| name.split('"').next());
            let name = name.unwrap_or_else(|| {
                panic!("{}: a {of} without a name in place", file.display());
            });
            found.push((name.to_owned(), of.to_owned()));
        }
    }
    found
}
