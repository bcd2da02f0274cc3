//! `Table`: columns under their names.

use std::fmt;

/// Columns under their names.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn of(names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { rows: vec![names] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
        };
        let widths: Vec<_> = (0..columns)
            .map(|column| widest(column).unwrap_or_default())
            .collect();
        for row in &self.rows {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// What to show where there may be nothing.
pub(super) fn or_dash(text: Option<&str>) -> String {
    text.unwrap_or("-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::of(&["NODE", "N"]);
        table.row(["a-long-name".to_owned(), "1".to_owned()]);
        table.row(["ä".to_owned(), "200".to_owned()]);
        assert_eq!(
            table.to_string(),
            "NODE         N\na-long-name  1\nä            200\n"
        );
    }
}
