//! The known name nearest to one that is not known, for warnings about misspelt settings.

/// The candidate with the smallest edit distance to `name`; of equals, the first.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().min_by_key(|candidate| distance(name, candidate))
}

/// Levenshtein's distance: insertions, deletions and substitutions that turn `from` into `to`.
/// One row of the matrix is kept; `left` and `diagonal` are the neighbours already overwritten.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut cells = row.iter_mut();
        if let Some(first) = cells.next() {
            *first = left;
        }
        for (cell, b) in cells.zip(to.chars()) {
            let substituted = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = substituted.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_textbook() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("lease", "leese", 1),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
    }

    #[test]
    fn the_nearest_name_wins_and_the_first_of_equals() {
        assert_eq!(nearest("lisen", ["lease", "listen", "log"]), Some("listen"));
        assert_eq!(nearest("x", ["a", "b"]), Some("a"));
        assert_eq!(nearest("x", []), None);
    }
}
