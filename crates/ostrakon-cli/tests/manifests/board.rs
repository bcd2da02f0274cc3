//! `Board`: the Grafana board in `deploy/grafana`. No Grafana runs here: what it would refuse or show wrongly is looked for by reading.
//! What its expressions answer is asked of a real Prometheus elsewhere.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::catalogue::{Catalogue, root};

/// What Grafana divides the width of a board into.
const COLUMNS: u64 = 24;

#[test]
fn every_panel_has_an_id_and_a_place_of_its_own() {
    let board = Board::read();
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in board.panels() {
        let title = &panel["title"];
        let id = panel["id"].as_u64().expect("a panel has an id");
        assert!(ids.insert(id), "{title} has the id {id} of another panel");
        let side = |name: &str| {
            panel["gridPos"][name]
                .as_u64()
                .expect("a place in the grid")
        };
        let (x, y, width, height) = (side("x"), side("y"), side("w"), side("h"));
        assert!(width > 0 && height > 0, "{title} has no size");
        assert!(x + width <= COLUMNS, "{title} is wider than the board");
        for column in x..x + width {
            for line in y..y + height {
                let is_free = taken.insert((column, line));
                assert!(is_free, "{title} lies on another panel");
            }
        }
    }
}

#[test]
fn every_panel_says_what_it_shows_and_what_to_do() {
    let board = Board::read();
    for panel in board.panels() {
        let title = panel["title"].as_str().unwrap_or_default();
        assert!(!title.is_empty(), "{panel}");
        if panel["type"] == "row" {
            continue;
        }
        let description = panel["description"].as_str().unwrap_or_default();
        assert!(description.len() > 40, "{title} says too little");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        let targets = panel["targets"]
            .as_array()
            .expect("a panel shows something");
        let refs: BTreeSet<_> = targets.iter().map(|one| one["refId"].to_string()).collect();
        assert_eq!(refs.len(), targets.len(), "{title}");
    }
}

#[test]
fn the_board_asks_for_metrics_that_exist_and_for_variables_that_it_has() {
    let (board, catalogue) = (Board::read(), Catalogue::read());
    let mut shown = BTreeSet::new();
    for line in board.lines() {
        let (title, plain) = (line.title, line.plain());
        let named = catalogue.named_in(line.expression);
        assert!(!named.is_empty(), "{title} shows nothing of ours");
        shown.extend(named);
        assert!(!plain.contains('$'), "{title}: {plain}");
    }
    assert!(shown.len() > 20, "{shown:?}");
    let variables = board.variables();
    let names: Vec<_> = variables.iter().map(|one| one["name"].as_str()).collect();
    assert_eq!(names, [Some("datasource"), Some("node"), Some("kind")]);
    assert_eq!(variables[0]["query"], "prometheus");
    for variable in &variables[1..] {
        let query = variable["query"]["query"].as_str().expect("a query");
        let label = variable["name"].as_str().expect("a name");
        for metric in catalogue.named_in(query) {
            assert!(catalogue.0[metric].labels.contains(label), "{query}");
        }
    }
}

pub(crate) struct Board(Value);

impl Board {
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(root().join("deploy/grafana/ostrakon.json"));
        let board = serde_json::from_str(&text.expect("a board"));
        Self(board.expect("a board is JSON"))
    }

    fn panels(&self) -> &[Value] {
        self.0["panels"].as_array().expect("a board has panels")
    }

    fn variables(&self) -> &[Value] {
        let variables = self.0["templating"]["list"].as_array();
        variables.expect("a board has variables")
    }

    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let panels = self.panels().iter();
        let lines = panels.flat_map(|panel| {
            let targets = panel["targets"].as_array().into_iter().flatten();
            targets.map(|target| Line {
                title: panel["title"].as_str().unwrap_or_default(),
                expression: target["expr"].as_str().expect("an expression"),
                legend: target["legendFormat"].as_str().expect("a legend"),
            })
        });
        lines.collect()
    }
}

/// One thing that a panel shows.
pub(crate) struct Line<'b> {
    /// Of its panel.
    pub(crate) title: &'b str,
    pub(crate) expression: &'b str,
    legend: &'b str,
}

impl Line<'_> {
    /// What Grafana makes of the expression if every kind and node is chosen by name, and somebody looks closely.
    pub(crate) fn plain(&self) -> String {
        let chosen = [
            ("$kind", ".+"),
            ("$node", ".+"),
            ("$__rate_interval", "20s"),
        ];
        let text = self.expression.to_owned();
        chosen
            .iter()
            .fold(text, |text, (name, value)| text.replace(name, value))
    }

    /// The labels that tell it from others of its panel.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        let parts = self.legend.split("{{").skip(1);
        parts.map(|part| part.split("}}").next().unwrap_or_default())
    }
}
