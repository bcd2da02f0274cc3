//! What must hold of the book in `docs/`, as tests: no link in it is dead, and no page is missing from its contents.
//!
//! Pages are read as the Markdown they are, so nothing has to be built or installed. Links to other sites are not followed: a check that
//! needs the network fails for reasons of its own. Snippets are compiled elsewhere, as doctests of `ostrakon`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use crate::child::workspace_root;

#[test]
fn no_link_in_the_book_is_dead() {
    let pages = Pages::of_the_project();
    assert_eq!(pages.dead_links(), Vec::<String>::new());
}

#[test]
fn every_page_of_the_book_is_in_its_contents() {
    let pages = Pages::of_the_project();
    let contents = pages.0.get(Path::new(CONTENTS)).expect("docs/SUMMARY.md");
    let listed: BTreeSet<_> = contents
        .links
        .iter()
        .map(|link| link.file(CONTENTS))
        .collect();
    let chapters = pages
        .0
        .keys()
        .filter(|path| path.starts_with(BOOK) && *path != Path::new(CONTENTS));
    let missing: Vec<_> = chapters.filter(|path| !listed.contains(*path)).collect();
    assert!(missing.is_empty(), "add to {CONTENTS}: {missing:?}");
}

#[test]
fn a_page_with_rust_in_it_is_a_doctest_of_some_crate() {
    let root = workspace_root();
    let crates = fs::read_dir(root.join("crates")).expect("the crates");
    let roots =
        crates.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("src/lib.rs")).ok());
    let roots: String = roots.collect();
    let is_tested =
        |path: &Path| roots.contains(&format!("include_str!(\"../../../{}\")", path.display()));
    let pages = Pages::of_the_project().0;
    let forgotten: Vec<_> = pages
        .iter()
        .filter(|(path, page)| page.has_rust && !is_tested(path))
        .map(|(path, _)| path)
        .collect();
    assert!(
        forgotten.is_empty(),
        "add to `mod book` of crates/ostrakon/src/lib.rs: {forgotten:?}"
    );
}

#[test]
fn a_link_is_dead_if_its_file_or_its_heading_is_missing_or_it_leaves_the_book() {
    let pages = Pages(BTreeMap::from([
        page(
            "docs/a.md",
            "# A\n[b](b.md) [h](b.md#the-rest-of-it) [own](#a) [out](https://x.example/y) `[code](nowhere.md)`\n",
        ),
        page(
            "docs/b.md",
            "# B\n## The `rest` of it\n```text\n[in a block](nowhere.md)\n# no heading\n```\n",
        ),
        page(
            "docs/bad.md",
            "[1](c.md) [2](b.md#no-heading) [3](#x) [4](../README.md)\n",
        ),
        page("README.md", "# R\n[docs](docs/b.md)\n"),
    ]));
    assert_eq!(
        pages.dead_links(),
        [
            "docs/bad.md: there is no file c.md",
            "docs/bad.md: there is no heading for b.md#no-heading",
            "docs/bad.md: there is no heading for #x",
            "docs/bad.md: ../README.md is not part of the book: name it as text",
        ]
    );
}

const BOOK: &str = "docs";
const CONTENTS: &str = "docs/SUMMARY.md";

/// Every page by its path in the workspace.
struct Pages(BTreeMap<PathBuf, Page>);

struct Page {
    links: Vec<Link>,
    /// What a link can name behind `#`.
    anchors: BTreeSet<String>,
    /// Whether there is Rust in it that claims to compile.
    has_rust: bool,
}

/// Where a link leads, as it is written.
struct Link(String);

impl Pages {
    /// The book, and the pages beside it that lead into it.
    fn of_the_project() -> Self {
        let root = workspace_root();
        let mut pages = BTreeMap::new();
        for folder in ["", BOOK, "docs/decisions"] {
            let entries = fs::read_dir(root.join(folder)).expect("a folder of the project");
            for entry in entries {
                let name = entry.expect("a readable folder").file_name();
                let path = Path::new(folder).join(name);
                if path.extension().is_some_and(|extension| extension == "md") {
                    let text = fs::read_to_string(root.join(&path)).expect("a readable page");
                    pages.insert(path, Page::read(&text));
                }
            }
        }
        Self(pages)
    }

    fn dead_links(&self) -> Vec<String> {
        let pages = self.0.iter();
        let links = pages.flat_map(|(path, page)| page.links.iter().map(move |link| (path, link)));
        let dead = |(path, link): (&PathBuf, &Link)| {
            Some(format!("{}: {}", path.display(), self.fault(path, link)?))
        };
        links.filter_map(dead).collect()
    }

    fn fault(&self, from: &Path, link: &Link) -> Option<String> {
        let (Link(written), file) = (link, link.file(from));
        if from.starts_with(BOOK) && !file.starts_with(BOOK) {
            return Some(format!(
                "{written} is not part of the book: name it as text"
            ));
        }
        let Some(page) = self.0.get(&file) else {
            // It may be no page: a picture, a licence.
            let is_there = workspace_root().join(&file).exists();
            return (!is_there).then(|| format!("there is no file {written}"));
        };
        let missing = link
            .anchor()
            .is_some_and(|anchor| !page.anchors.contains(anchor));
        missing.then(|| format!("there is no heading for {written}"))
    }
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self {
            links: Vec::new(),
            anchors: BTreeSet::new(),
            has_rust: false,
        };
        let mut in_block = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
                page.has_rust |= line.contains("```rust") && !line.contains("ignore");
            } else if !in_block {
                page.read_line(line);
            }
        }
        page
    }

    fn read_line(&mut self, line: &str) {
        if line.starts_with('#') {
            self.anchors
                .insert(anchor_of(line.trim_start_matches('#').trim()));
        }
        // What is between backticks is code.
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose
            .split("](")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0));
        let inside = targets.filter(|target| !target.contains("://"));
        self.links
            .extend(inside.map(|target| Link(target.to_owned())));
    }
}

impl Link {
    /// The file it leads to, from a page.
    fn file(&self, from: impl AsRef<Path>) -> PathBuf {
        let from = from.as_ref();
        let path = self.0.split('#').next().unwrap_or_default();
        if path.is_empty() {
            return from.to_owned();
        }
        let mut file = from.parent().map(Path::to_owned).unwrap_or_default();
        for part in Path::new(path).components() {
            match part {
                Component::ParentDir => drop(file.pop()),
                Component::CurDir => {}
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => file.push(part),
            }
        }
        file
    }

    fn anchor(&self) -> Option<&str> {
        self.0.split_once('#').map(|(_, anchor)| anchor)
    }
}

/// What GitHub and mdBook make of a heading.
fn anchor_of(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

fn page(path: &str, text: &str) -> (PathBuf, Page) {
    (PathBuf::from(path), Page::read(text))
}
