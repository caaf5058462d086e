//! Results for people.

mod charts;
pub mod compare;
pub mod difference;
mod html;
mod text;
mod timeline;
mod wrong_frame;

use forebay_sim::Backlog;

pub use charts::charts;
pub use html::html;
pub use text::text;
pub use timeline::timeline;

/// A time with three digits and its unit.
pub fn time(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        // What is rounded to 1,000 of a unit is 1 of the next one.
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => format!("{} µs", digits(value / 1e3)),
        999_500..999_500_000 => format!("{} ms", digits(value / 1e6)),
        _ => format!("{} s", digits(value / 1e9)),
    }
}

/// That a trial was too short for a chip's buffer.
pub fn backlog(Backlog { halfway, at_end, sent }: Backlog) -> String {
    format!(
        "the chip's buffer fills: {halfway} packets were inside halfway and {at_end} of {sent} at the end; a longer trial may lose what this one did not"
    )
}

/// A rate in frames a second.
pub fn rate(pps: f64) -> String {
    match pps {
        // What is rounded to 1,000 of a unit is 1 of the next one.
        pps if pps >= 999_500.0 => format!("{} Mpps", digits(pps / 1e6)),
        pps if pps >= 999.5 => format!("{} kpps", digits(pps / 1e3)),
        pps => format!("{} pps", digits(pps)),
    }
}

/// A rate in bits a second, of which Gbps are given.
fn bits(gbps: f64) -> String {
    match gbps {
        gbps if gbps >= 1.0 => format!("{gbps:.3} Gbps"),
        gbps if gbps >= 1e-3 => format!("{} Mbps", digits(gbps * 1e3)),
        gbps => format!("{} kbps", digits(gbps * 1e6)),
    }
}

/// Three significant digits or more.
fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.01 || value == 0.0 => format!("{value:.2}"),
        value => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_unit_of_what_they_are_rounded_to() {
        let shown = [1e6, 999_999.999, 999_499.0, 999.9, 998.0].map(rate);
        assert_eq!(shown, ["1.00 Mpps", "1.00 Mpps", "999 kpps", "1.00 kpps", "998 pps"]);
    }

    #[test]
    fn times_have_the_unit_of_what_they_are_rounded_to() {
        let shown = [999, 999_499, 999_999, 999_500_000, 1_500_000_000].map(time);
        assert_eq!(shown, ["999 ns", "999 µs", "1.00 ms", "1.00 s", "1.50 s"]);
    }

    #[test]
    fn slow_rates_have_digits_too() {
        let shown = [10.3831, 1.0, 0.672, 0.000672, 0.0].map(bits);
        assert_eq!(
            shown,
            ["10.383 Gbps", "1.000 Gbps", "672 Mbps", "672 kbps", "0.00 kbps"]
        );
        assert_eq!(rate(0.001), "0.0010 pps");
    }
}
