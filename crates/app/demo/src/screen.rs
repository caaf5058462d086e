//! What is said on the terminal: a picture, progress, numbers that can be read.

use crate::settings::{Method, Settings};
use std::fmt::Write;

/// Width of the progress bar in characters.
const BAR: usize = 32;

/// Where a demonstration shows what it does.
pub trait Screen {
    /// Text that stays, ending with a line break.
    fn say(&mut self, text: &str);

    /// A line that the next one replaces, without a line break. Empty: nothing stands there any more.
    fn progress(&mut self, line: &str);
}

/// Shows nothing.
pub struct Silent;

impl Screen for Silent {
    fn say(&mut self, _text: &str) {}
    fn progress(&mut self, _line: &str) {}
}

/// What is going to happen.
pub(crate) fn introduction(settings: &Settings) -> String {
    let (format, flows) = (settings.format(), settings.flows());
    let mut text = format!(
        "{flows} device{} send{} {} messages of S = {} bytes: 6 of flag header, {} of payload.\n",
        if flows == 1 { "" } else { "s" },
        if flows == 1 { "s" } else { "" },
        grouped(settings.messages()),
        format.message_bytes(),
        format.payload_bytes(),
    );
    if settings.messages() != settings.messages_asked() {
        let _ = writeln!(
            text,
            "({} were asked for: rounded up, so that the last batch of every flow is full and none stays behind.)",
            grouped(settings.messages_asked())
        );
    }
    text
}

/// Draws the hosts, the switches and the links between them.
pub(crate) fn picture(settings: &Settings, network: bool) -> String {
    let n = settings.batch();
    let mut text = format!(
        "
  ┌──────────┐ messages  ┌───────────────┐  N-packets  ┌──────────────────┐ messages  ┌──────────┐
  │ devices  ├──────────►│ switch 1      ╞════════════►│ switch 2         ├──────────►│ server   │
  │ 10.0.1.1 │           │ iot_aggregate │  the link   │ iot_disaggregate │           │ 10.0.2.2 │
  └──────────┘           └───────────────┘             └──────────────────┘           └──────────┘
                          makes {n} into 1                 makes 1 into {n}

"
    );
    text.push_str(if network {
        "Three network namespaces joined by veth pairs; each switch is a process, `forebay run`; devices and server use\n\
         ordinary UDP sockets.\n"
    } else {
        "All in one process: frames go from port to port in memory.\n"
    });
    let _ = match settings.rate() {
        Some(rate) => writeln!(text, "At most {} messages a second.", grouped(rate.round() as u64)),
        None if network => writeln!(
            text,
            "As fast as messages arrive: never more than {} under way, so no queue of the system can overflow.",
            settings.window()
        ),
        None => Ok(()),
    };
    text
}

/// What this run is about.
pub(crate) fn headline(settings: &Settings, method: Method) -> String {
    let n = settings.batch();
    match method {
        Method::Resubmit if n == 1 => "\nDisaggregation by resubmission and clones: N is 1, one clone\n".to_string(),
        Method::Resubmit => {
            format!(
                "\nDisaggregation by resubmission: {} rounds, a clone in each of the {n} passes\n",
                n - 1
            )
        }
        Method::Multicast => format!("\nDisaggregation by multicast: {n} replicas of each N-packet\n"),
    }
}

/// `  ████████░░░░  43,210 of 100,000 messages   52,345/s`
pub(crate) fn progress_line(done: u64, total: u64, seconds: f64) -> String {
    let share = crate::measurement::ratio(done, total).min(1.0);
    let filled = (share * BAR as f64) as usize;
    let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
    format!(
        "  {}{}  {} of {} messages   {}",
        "█".repeat(filled),
        "░".repeat(BAR - filled),
        grouped(done),
        grouped(total),
        per_second(rate)
    )
}

/// `52,345/s`
pub(crate) fn per_second(rate: f64) -> String {
    format!("{}/s", grouped(rate.round() as u64))
}

/// With commas: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Options, tests::options};

    #[test]
    fn numbers_are_grouped() {
        let texts = [0, 999, 1000, 100_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "100,000", "1,234,567"]);
    }

    #[test]
    fn the_bar_fills() {
        let half = progress_line(50, 100, 2.0);
        assert_eq!(half.matches('█').count(), BAR / 2);
        assert!(half.ends_with("50 of 100 messages   25/s"));
        assert_eq!(progress_line(200, 100, 0.0).matches('█').count(), BAR);
    }

    #[test]
    fn rounding_is_said() {
        let settings = Settings::new(&options()).expect("correct options");
        assert!(introduction(&settings).contains("1,040 messages of S = 22 bytes"));
        assert!(introduction(&settings).contains("(1,000 were asked for"));
        let exact = Options {
            messages: 80,
            ..options()
        };
        let settings = Settings::new(&exact).expect("correct options");
        assert!(!introduction(&settings).contains("asked"));
    }
}
