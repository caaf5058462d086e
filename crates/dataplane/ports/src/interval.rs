//! Intervals of time as users write them: `10us`.

/// Units in nanoseconds.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Nanoseconds, at least one; none when it is no whole number with a unit.
pub(crate) fn parse(text: &str) -> Option<u64> {
    UNITS.iter().find_map(|(unit, nanoseconds)| {
        let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
        count.checked_mul(*nanoseconds).filter(|interval_ns| *interval_ns > 0)
    })
}

/// In the largest unit of which it is a multiple.
pub(crate) fn text(interval_ns: u64) -> String {
    let whole = |(_, nanoseconds): &&(&str, u64)| interval_ns.is_multiple_of(*nanoseconds);
    let (unit, nanoseconds) = UNITS.iter().rfind(whole).unwrap_or(&UNITS[0]);
    format!("{}{unit}", interval_ns / nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        for (written, interval_ns) in [("1ns", 1), ("1500ns", 1_500), ("10us", 10_000), ("7s", 7_000_000_000)] {
            assert_eq!(parse(written), Some(interval_ns));
            assert_eq!(text(interval_ns), written);
        }
    }

    #[test]
    fn what_is_no_interval_is_none() {
        for text in [
            "",
            "us",
            "10",
            "0ns",
            "-1s",
            "1.5us",
            "10 us",
            "99999999999999999999s",
            "99999999999s",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
