//! Numbers on the command line, and what is said when a word is none.

use std::ops::RangeInclusive;

/// Longest time that an option may ask for, in seconds.
const SECONDS_MAX: f64 = 1e9;

/// Reads a whole number of at most what the type holds.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number: u64 = text
        .parse()
        .map_err(|_| "expected a whole number, for example 10".to_string())?;
    T::try_from(number).map_err(|_| "the number is too large".to_string())
}

/// Reads a whole number of a range.
pub fn whole_in(text: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    whole(text).ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (first, last) = (range.start(), range.end());
        format!("expected a whole number from {first} to {last}")
    })
}

/// Reads a number of seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=SECONDS_MAX).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds, for example 0.5".to_string()),
    }
}

/// Reads a rate in messages a second.
pub fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("expected a number of messages a second above 0, for example 500".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_said() {
        assert_eq!(whole::<u64>("12"), Ok(12));
        assert_eq!(
            whole::<u16>("x"),
            Err("expected a whole number, for example 10".to_string())
        );
        assert_eq!(whole::<u16>("65536"), Err("the number is too large".to_string()));
        assert_eq!(whole_in("3", 1..=4), Ok(3));
        assert_eq!(
            whole_in("5", 1..=4),
            Err("expected a whole number from 1 to 4".to_string())
        );
        assert_eq!(seconds("0.5"), Ok(0.5));
        assert!(seconds("-1").is_err() && seconds("nan").is_err());
        assert!(rate("0").is_err() && rate("inf").is_err() && rate("1e3").is_ok());
    }
}
