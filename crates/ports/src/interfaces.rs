//! The interfaces there are, and which of them a user may have meant.

use crate::system;

/// The names of the interfaces in this thread's network namespace; empty when the system does not
/// tell.
pub fn interface_names() -> Vec<String> {
    system::interface_names()
}

/// The candidates that look like `name`, best first, at most three.
pub(crate) fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let tolerance = 1 + name.chars().count() / 4;
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(3)
        .map(|(_, candidate)| candidate.to_owned())
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours between two words, without regard
/// to case (optimal string alignment).
fn edit_distance(first: &str, second: &str) -> usize {
    let first: Vec<char> = first.to_lowercase().chars().collect();
    let second: Vec<char> = second.to_lowercase().chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=second.len()).collect();
    for (row, &one) in first.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &other) in second.iter().enumerate() {
            let replaced = last[column] + usize::from(one != other);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && one == second[column - 1] && other == first[row - 1];
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[second.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (first, second, distance) in [
            ("", "", 0),
            ("veth0", "veth0", 0),
            ("veht0", "veth0", 1),
            ("VETH0", "veth0", 0),
            ("veth", "veth0", 1),
            ("eth0", "wlan0", 4),
            ("", "abc", 3),
        ] {
            assert_eq!(edit_distance(first, second), distance, "{first} {second}");
            assert_eq!(edit_distance(second, first), distance, "{second} {first}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_the_far_not_at_all() {
        let names = ["lo", "eth0", "veth0", "veth1", "docker0"];
        assert_eq!(similar("veht0", names), ["veth0", "eth0", "veth1"]);
        assert_eq!(similar("enp0s31f6", names), Vec::<String>::new());
    }

    #[test]
    fn every_system_has_an_interface() {
        assert!(!interface_names().is_empty());
    }
}
