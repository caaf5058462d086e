//! What a person sees of a running switch below its ports, and the keys that change it.

use forebay_daemon::{Histogram, Report};
use forebay_ports::Keys;
use std::fmt::Write;
use std::io::{IsTerminal, Stdin, stdin};

/// A request by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Show what has changed.
    Show,
    /// End the switch.
    Quit,
}

/// Which parts are shown. Keys work while the switch is in the foreground of a terminal.
#[derive(Default)]
pub struct LiveView {
    /// Whether there may be keys at all.
    takes_keys: bool,
    keys: Option<Keys<Stdin>>,
    shows_tables: bool,
    shows_queues: bool,
    is_paused: bool,
    /// How long packets were inside, up to the last report.
    before: Histogram,
    /// Delays of sampled packets, up to the last report.
    delays_before: Histogram,
}

impl LiveView {
    /// The view on a terminal; keys come from the standard input if that is one too.
    pub fn new() -> LiveView {
        LiveView {
            takes_keys: stdin().is_terminal(),
            ..LiveView::default()
        }
    }

    /// Whether numbers stand still.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Takes the keys that were pressed since the last call.
    pub fn press(&mut self) -> Option<Request> {
        if self.takes_keys && self.keys.is_none() {
            self.keys = Keys::open(stdin());
        }
        let mut request = None;
        while let Some(key) = self.keys.as_ref().and_then(Keys::next) {
            request = self.act(key).or(request);
            if request == Some(Request::Quit) {
                break;
            }
        }
        request
    }

    /// The switch is in the foreground again: the shell has changed how the terminal takes keys.
    pub fn resume(&self) {
        self.keys.iter().for_each(Keys::resume);
    }

    /// No more keys are taken, and the terminal is as before; what is shown next is over the whole time.
    pub fn close(&mut self) {
        *self = LiveView {
            shows_tables: self.shows_tables,
            shows_queues: self.shows_queues,
            ..LiveView::default()
        };
    }

    fn act(&mut self, key: u8) -> Option<Request> {
        match key {
            b't' => self.shows_tables = !self.shows_tables,
            b'u' => self.shows_queues = !self.shows_queues,
            b'p' | b' ' => self.is_paused = !self.is_paused,
            b'q' => return Some(Request::Quit),
            _ => return None,
        }
        Some(Request::Show)
    }

    /// What stands below the ports: how long packets are inside, the share of packets on the fast path, tables, queues,
    /// keys.
    pub fn text(&mut self, report: &Report) -> String {
        let lately = report.inside.since(&self.before);
        self.before = report.inside.clone();
        let mut text = times("inside the switch: half of the packets at most", &lately);
        if let Some(delays) = &report.delays {
            let lately = delays.since(&self.delays_before);
            self.delays_before = delays.clone();
            let sampled = format!("delay of {} sampled packets: half of them at most", lately.count());
            text += &times(&sampled, &lately);
        }
        text += &fast_path(report);
        text += &if self.shows_tables {
            tables(report)
        } else {
            filled_tables(report)
        };
        if self.shows_queues {
            text += &queues(report);
        }
        if self.keys.is_some() {
            text += &self.help();
        }
        text
    }

    fn help(&self) -> String {
        let verb = |is_shown| if is_shown { "without" } else { "with" };
        format!(
            "keys: t {} tables, u {} queues, p {}, q end the switch\n",
            verb(self.shows_tables),
            verb(self.shows_queues),
            if self.is_paused { "go on" } else { "pause" }
        )
    }
}

/// How long packets of the last interval took.
fn times(label: &str, times: &Histogram) -> String {
    if times.count() == 0 {
        return String::new();
    }
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| duration(times.quantile(share)));
    format!("{label} {half}, 99 % {most}, all {all}\n")
}

fn fast_path(report: &Report) -> String {
    let (fast, slow) = (report.paths.fast_total(), report.paths.slow_total());
    match fast + slow {
        0 => String::new(),
        all => format!("fast path: {:.1} % of packets\n", 100.0 * fast as f64 / all as f64),
    }
}

/// Tables that have entries, on one line.
fn filled_tables(report: &Report) -> String {
    let filled = report.tables.iter().filter(|table| table.entries > 0);
    let filled: Vec<String> = filled
        .map(|table| format!("{} {}", table.table, table.entries))
        .collect();
    if filled.is_empty() {
        String::new()
    } else {
        format!("entries: {}\n", filled.join(", "))
    }
}

/// All tables, a line each.
fn tables(report: &Report) -> String {
    let widest = report.tables.iter().map(|table| table.table.chars().count()).max();
    let width = widest.unwrap_or(0).max("table".len());
    let mut text = format!("{:width$}     entries  bytes looked up in\n", "table");
    for table in &report.tables {
        let _ = writeln!(
            text,
            "{:width$}  {:>10}  {:>18}",
            table.table, table.entries, table.bytes
        );
    }
    text
}

/// Queues that have been used, a line each.
fn queues(report: &Report) -> String {
    let mut text = "port  queue   waiting        taken      dropped\n".to_string();
    for queue in report.queues.iter().filter(|queue| queue.enqueued + queue.dropped > 0) {
        let _ = writeln!(
            text,
            "{:<4}  {:<5}  {:>8}  {:>11}  {:>11}",
            queue.port, queue.queue, queue.depth, queue.enqueued, queue.dropped
        );
    }
    text
}

/// `12 µs`, in three digits at most.
fn duration(nanoseconds: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    match units.iter().find(|(unit, _)| nanoseconds >= *unit) {
        None => format!("{nanoseconds} ns"),
        Some((unit, name)) => {
            let value = nanoseconds as f64 / *unit as f64;
            let digits = if value < 10.0 { 1 } else { 0 };
            format!("{value:.digits$} {name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_pipeline::TableMemory;
    use forebay_switch::QueueReport;

    fn report() -> Report {
        let table = |table: &str, entries| TableMemory {
            table: table.to_string(),
            entries,
            bytes: 64,
        };
        Report {
            tables: vec![table("routes", 2), table("hosts", 0)],
            queues: vec![QueueReport {
                port: 1,
                queue: 2,
                depth: 3,
                capacity: 4,
                packets_per_second: None,
                enqueued: 5,
                dropped: 6,
            }],
            ..Report::default()
        }
    }

    #[test]
    fn keys_choose_what_is_shown() {
        let mut view = LiveView::default();
        assert_eq!(view.text(&report()), "entries: routes 2\n");
        assert_eq!(view.act(b't'), Some(Request::Show));
        assert!(
            view.text(&report())
                .contains("hosts            0                  64\n"),
            "{}",
            view.text(&report())
        );
        assert_eq!(view.act(b't'), Some(Request::Show));
        assert_eq!(view.act(b'u'), Some(Request::Show));
        let row = "1     2             3            5            6\n";
        assert!(view.text(&report()).ends_with(row), "{}", view.text(&report()));
        assert_eq!(view.act(b'p'), Some(Request::Show));
        assert!(view.is_paused());
        assert!(view.help().contains("u without queues, p go on, q"), "{}", view.help());
        assert_eq!(view.act(b'x'), None);
        assert_eq!(view.act(b'q'), Some(Request::Quit));
    }

    #[test]
    fn durations_have_units() {
        let written = [7, 1_239, 12_345, 4_500_000, 2_000_000_000].map(duration);
        assert_eq!(written, ["7 ns", "1.2 µs", "12 µs", "4.5 ms", "2.0 s"]);
    }
}
