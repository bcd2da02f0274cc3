//! Text for people: numbers cut to what matters, in tables that are Markdown and
//! also line up in a terminal.

/// A number short enough for a table.
pub(crate) fn quantity(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e4 => format!("{:.0} k", n / 1e3),
        n if n >= 100.0 => format!("{n:.0}"),
        n => format!("{n:.2}"),
    }
}

/// A header and rows of as many cells each.
pub(crate) fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(header[column].chars().count())
    };
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.enumerate().map(|(column, cell)| {
            let width = width(column);
            format!(" {cell:<width$} |")
        });
        format!("|{}\n", padded.collect::<String>())
    };
    let rule = (0..header.len()).map(|column| format!("{}|", "-".repeat(width(column) + 2)));
    let mut text = line(&mut header.iter().map(String::as_str));
    text += &format!("|{}\n", rule.collect::<String>());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}
