//! "Did you mean": the known name that is nearest to a misspelt one.

/// Edits (a letter added, removed, changed, or two neighbours swapped) from one word to another.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let changed = usize::from(from[i - 1] != to[j - 1]);
            let mut least = (rows[i - 1][j] + 1)
                .min(row[j - 1] + 1)
                .min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

/// The nearest of the known names, when it is near enough to be meant.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = name.chars().count().div_ceil(3).max(1);
    let distances = known.into_iter().map(|known| (edits(name, known), known));
    let best = distances
        .filter(|(distance, _)| *distance <= near)
        .min_by_key(|(distance, _)| *distance);
    best.map(|(_, known)| known)
}

/// `; did you mean NAME?`, or `; there are: A, B` when nothing is near.
pub fn suggestion<'k>(name: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(meant) => format!("; did you mean {meant}?"),
        None => {
            let all: Vec<&str> = known.into_iter().collect();
            if all.is_empty() {
                String::new()
            } else {
                format!("; there are: {}", all.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name() {
        assert_eq!(nearest("LAOD", ["N", "LOAD", "S"]), Some("LOAD"));
        assert_eq!(nearest("max_gbp", ["max_gbps", "lost"]), Some("max_gbps"));
        assert_eq!(nearest("xyz", ["max_gbps", "lost"]), None);
        assert_eq!(suggestion("xyz", ["a", "b"]), "; there are: a, b");
        assert_eq!(suggestion("xyz", []), "");
    }
}
