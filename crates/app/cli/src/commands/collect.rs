//! `forebay collect`: Telemetry Reports received, kept, analysed, queried.

use super::Status;
use super::run::stop_on_signals;
use crate::output;
use crate::telemetry_options::{ExportOptions, listening};
use crate::working::while_working;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Subcommand, ValueEnum};
use forebay_collect::analysis::{BurstThresholds, Event};
use forebay_collect::query::{Filter, Order, Query, Question, ask};
use forebay_collect::store::{self, Rotation};
use forebay_collect::{Collector, Receiver, Settings};
use forebay_protocol::why_not_listening;
use forebay_telemetry::Source;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Arguments of `forebay collect`.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Reports are those of Telemetry Report 2.0, as functions/int sends them. Without --store nothing is kept but metrics.
The files of the store are Parquet, a row for each hop of a packet; `forebay collect query` and tools such as DuckDB and pandas \
read them while more are written. docs/telemetry.md has the columns.

Examples:
  forebay collect --store /var/lib/forebay/reports --metrics 9101
  forebay collect --store reports --influx 'http://127.0.0.1:8086?db=int'
  forebay collect query flows --store reports --by latency
  forebay collect query bursts --store reports --last 10m --json"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Where reports come to (UDP): HOST:PORT, PORT for this machine alone, :PORT for all interfaces
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:32768", value_parser = listening)]
    listen: String,
    /// Keep reports in Parquet files in this folder, which is made if it does not exist
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Seconds after which a report is in a file at the latest
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = crate::numbers::seconds)]
    file_seconds: f64,
    /// Rows after which a file is written
    #[arg(long, value_name = "ROWS", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    file_rows: u64,
    /// Delete the oldest files when all have more megabytes
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    store_limit: Option<u64>,
    /// The UDP port of INT in the packets that are reported
    #[arg(long, value_name = "PORT", default_value_t = forebay_collect::report::INT_PORT)]
    int_port: u16,
    #[command(flatten)]
    bursts: BurstOptions,
    /// Say nothing of loops, changes of paths and microbursts
    #[arg(long)]
    quiet: bool,
    /// Seconds after which it stops
    #[arg(long, value_name = "SECONDS", value_parser = crate::numbers::seconds)]
    duration: Option<f64>,
    #[command(flatten)]
    export: ExportOptions,
}

#[derive(Subcommand)]
enum What {
    /// Ask the files of a store
    Query(QueryArguments),
}

/// From when on a queue has a microburst.
#[derive(clap::Args)]
struct BurstOptions {
    /// Queue depth from which on there is a microburst, in packets or the node's own unit
    #[arg(long, value_name = "DEPTH", default_value_t = BurstThresholds::default().depth)]
    burst_depth: u32,
    /// Microseconds inside a node from which on there is a microburst
    #[arg(long, value_name = "MICROSECONDS", default_value_t = BurstThresholds::default().latency_ns / 1_000, value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    burst_latency: u32,
}

impl BurstOptions {
    fn thresholds(&self) -> BurstThresholds {
        BurstThresholds {
            depth: self.burst_depth,
            latency_ns: self.burst_latency * 1_000,
        }
    }
}

/// What can be asked.
#[derive(Clone, Copy, ValueEnum)]
enum Asked {
    /// Flows, those with the most first: see --by
    Flows,
    /// Nodes: time in them, occupancy of their queues
    Hops,
    /// Reports with their paths, the newest last
    Reports,
    /// Drops by node and reason
    Drops,
    /// Packets that have met a node twice
    Loops,
    /// Flows whose path has changed
    Paths,
    /// Microbursts
    Bursts,
}

/// By what flows are ordered.
#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// Reports
    Reports,
    /// The 99th percentile of the time from the first node to the last
    Latency,
    /// The largest occupancy of a queue
    Depth,
    /// Drops
    Drops,
}

#[derive(clap::Args)]
struct QueryArguments {
    /// What is asked
    #[arg(value_enum, value_name = "WHAT")]
    asked: Asked,
    /// The folder of the reports
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// By what flows are ordered
    #[arg(long, value_enum, default_value_t = By::Reports)]
    by: By,
    /// Reports of the last time only: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    last: Option<Duration>,
    /// Of packets from or to this address
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// Of packets from or to this TCP or UDP port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Of packets of this protocol of IP: tcp, udp, icmp, icmpv6 or a number
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    protocol: Option<u8>,
    /// Of packets that have met this node
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
    /// Rows at most
    #[arg(long, value_name = "ROWS", default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    bursts: BurstOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn protocol(text: &str) -> Result<u8, String> {
    match text {
        "icmp" => Ok(1),
        "tcp" => Ok(6),
        "udp" => Ok(17),
        "icmpv6" => Ok(58),
        number => number
            .parse()
            .map_err(|_| "expected tcp, udp, icmp, icmpv6 or a number up to 255".to_string()),
    }
}

fn time_span(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let span = UNITS.iter().find_map(|(unit, seconds)| {
        let count: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        count.checked_mul(*seconds).map(Duration::from_secs)
    });
    span.ok_or_else(|| "expected a number with s, m, h or d, for example 10m".to_string())
}

/// Collects, or answers a question.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.what {
        Some(What::Query(query)) => answer(query),
        None => collect(arguments),
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn answer(arguments: &QueryArguments) -> Result<Status> {
    if !arguments.store.is_dir() {
        bail!("{}: there is no such folder", arguments.store.display());
    }
    let question = match (arguments.asked, arguments.by) {
        (Asked::Flows, By::Reports) => Question::Flows(Order::Reports),
        (Asked::Flows, By::Latency) => Question::Flows(Order::Latency),
        (Asked::Flows, By::Depth) => Question::Flows(Order::Depth),
        (Asked::Flows, By::Drops) => Question::Flows(Order::Drops),
        (Asked::Hops, _) => Question::Hops,
        (Asked::Reports, _) => Question::Reports,
        (Asked::Drops, _) => Question::Drops,
        (Asked::Loops, _) => Question::Loops,
        (Asked::Paths, _) => Question::Paths,
        (Asked::Bursts, _) => Question::Bursts,
    };
    let from = arguments.last.map(|last| now().saturating_sub(last));
    let query = Query {
        question,
        filter: Filter {
            from_ns: from.map(|from| from.as_nanos() as u64),
            to_ns: None,
            address: arguments.address,
            port: arguments.port,
            protocol: arguments.protocol,
            node: arguments.node,
        },
        limit: arguments.top,
        bursts: arguments.bursts.thresholds(),
    };
    let answer = while_working("reading reports", || ask(&arguments.store, &query))?;
    if arguments.json {
        output::print_json(&answer.json())?
    } else {
        output::print(&answer.table())?;
        if answer.rows.is_empty() {
            output::note(&nothing_found(&arguments.store));
        }
    }
    for problem in &answer.unread {
        output::warning(&format!("{problem}; its reports are not in the answer"));
    }
    Ok(if answer.unread.is_empty() {
        Status::Good
    } else {
        Status::Bad
    })
}

/// What is said of an answer without rows.
fn nothing_found(folder: &Path) -> String {
    match store::files(folder) {
        Ok(files) if files.is_empty() => format!(
            "{} has no files of reports: `forebay collect --store` writes the first one --file-seconds after the first report",
            folder.display()
        ),
        _ => "no report in the files answers this question".to_string(),
    }
}

fn collect(arguments: &Arguments) -> Result<Status> {
    // As by default.
    let everywhere = arguments.listen.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
    let opened = Receiver::listen(everywhere.as_ref().unwrap_or(&arguments.listen));
    let mut receiver = opened.map_err(|error| {
        let why = why_not_listening(&error);
        anyhow!("--listen {}: cannot listen there: {why}", arguments.listen)
    })?;
    let mut exporter = arguments.export.open()?;
    let settings = Settings {
        int_port: arguments.int_port,
        store: arguments.store.clone(),
        rotation: Rotation {
            rows: arguments.file_rows as usize,
            time_ns: (arguments.file_seconds * 1e9) as u64,
            bytes_max: arguments
                .store_limit
                .map(|megabytes| megabytes.saturating_mul(1_000_000)),
        },
        bursts: arguments.bursts.thresholds(),
        databases: exporter.databases(),
    };
    if let Some(folder) = &arguments.store {
        forebay_files::check_folder(folder).context("--store")?;
    }
    let mut collector = Collector::new(settings).context("--store")?;
    if let [newest, others @ ..] = collector.unread() {
        let more = match others.len() {
            0 => String::new(),
            count => format!(" ({count} more cannot be read either)"),
        };
        output::warning(&format!(
            "--store: {newest}{more}; reports in it that arrived may be counted as missing"
        ));
    }
    let source: Source = Arc::new(collector.metrics());
    if !exporter.is_idle() {
        exporter
            .start(Arc::clone(&source))
            .context("cannot start the thread of metrics")?;
    }
    output::info(&format!("reports are received at {}", receiver.address()?));
    let stop = stop_on_signals()?;
    let began = Instant::now();
    let is_over = |seconds: f64| began.elapsed().as_secs_f64() >= seconds;
    let mut log = EventLog::new(arguments.quiet);
    let mut time = ReportTime::begin();
    let mut failed = None;
    while !stop.load(Ordering::Relaxed) && !arguments.duration.is_some_and(is_over) {
        let received = receiver.receive();
        let now_ns = time.now_ns();
        match received {
            Ok(Some(datagram)) => log.say(collector.receive(datagram, now_ns), now_ns),
            Ok(None) => {}
            // What has come before is written all the same.
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        log.say(collector.time_passes(now_ns), now_ns);
        log.problem(collector.problem());
    }
    log.say(collector.finish(time.now_ns()), u64::MAX);
    log.problem(collector.problem());
    exporter.finish(&source);
    if let Some(error) = failed {
        return Err(error).context("no more reports can be received");
    }
    Ok(match loss(collector.lost_reports(), collector.problem()) {
        Some(loss) => {
            output::error(&loss);
            Status::Bad
        }
        None => Status::Good,
    })
}

/// What is said at the end when the store does not have all reports.
fn loss(reports: u64, problem: Option<&str>) -> Option<String> {
    match (reports, problem) {
        (0, None) => None,
        (0, Some(problem)) => Some(problem.to_string()),
        (_, Some(problem)) => Some(format!("{reports} reports are lost: {problem}")),
        (_, None) => Some(format!(
            "{reports} reports are lost: there was no room for them while the store could not be written"
        )),
    }
}

/// From this time on it is said that reports are ahead of the clock.
const AHEAD_MIN: Duration = Duration::from_secs(1);

/// The time of reports. It does not go back when the clock of the machine does, since events have an order, and it does
/// not stand still until that clock has caught up either: files are due, and microbursts end.
struct ReportTime {
    last: Duration,
    looked: Instant,
    /// Whether the clock of the machine is behind.
    is_ahead: bool,
}

impl ReportTime {
    fn begin() -> ReportTime {
        ReportTime {
            last: now(),
            looked: Instant::now(),
            is_ahead: false,
        }
    }

    /// Nanoseconds since the Unix epoch.
    fn now_ns(&mut self) -> u64 {
        let looked = Instant::now();
        let passed = looked.duration_since(std::mem::replace(&mut self.looked, looked));
        let clock = now();
        self.last = after(self.last, passed, clock);
        let is_ahead = self.last > clock + AHEAD_MIN;
        if is_ahead && !self.is_ahead {
            output::warning(&format!(
                "the clock of this machine was set back: the times of reports are {:.1} s ahead of it, and go on at half its speed until \
                 it has caught up",
                (self.last - clock).as_secs_f64()
            ));
        }
        self.is_ahead = is_ahead;
        self.last.as_nanos() as u64
    }
}

/// The time after `passed`: what the clock says, or half as much later than before.
fn after(last: Duration, passed: Duration, clock: Duration) -> Duration {
    clock.max(last + passed / 2)
}

/// Events as messages, at most some a second.
struct EventLog {
    is_quiet: bool,
    second: u64,
    said: u32,
    problem: Option<String>,
}

/// Messages of a second.
const MESSAGES_MAX: u32 = 10;

impl EventLog {
    fn new(is_quiet: bool) -> EventLog {
        EventLog {
            is_quiet,
            second: 0,
            said: 0,
            problem: None,
        }
    }

    fn say(&mut self, events: &[Event], now_ns: u64) {
        if self.is_quiet || events.is_empty() {
            return;
        }
        let second = now_ns / 1_000_000_000;
        if second != self.second {
            (self.second, self.said) = (second, 0);
        }
        for event in events {
            self.said += 1;
            match self.said {
                1..=MESSAGES_MAX => output::info(&event.to_string()),
                said if said == MESSAGES_MAX + 1 => output::info("more events in this second are only counted"),
                _ => {}
            }
        }
    }

    /// Says what keeps the store from being written, when it begins and when it ends.
    fn problem(&mut self, problem: Option<&str>) {
        if self.problem.as_deref() == problem {
            return;
        }
        match problem {
            Some(problem) => output::warning(&format!("{problem}; reports wait in memory")),
            None => output::info("the store is written again"),
        }
        self.problem = problem.map(str::to_string);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_not_lost_without_a_word() {
        assert_eq!(loss(0, None), None);
        assert_eq!(loss(3, Some("x: full")).as_deref(), Some("3 reports are lost: x: full"));
        assert!(loss(3, None).is_some_and(|loss| loss.contains("no room")));
    }

    #[test]
    fn the_time_of_reports_goes_on_when_the_clock_is_set_back() {
        let seconds = Duration::from_secs;
        assert_eq!(after(seconds(100), seconds(2), seconds(102)), seconds(102));
        assert_eq!(after(seconds(100), seconds(2), seconds(5000)), seconds(5000));
        let set_back = after(seconds(100), seconds(2), seconds(40));
        assert_eq!(set_back, seconds(101));
        let (mut time, mut clock) = (set_back, seconds(40));
        for _ in 0..122 {
            (time, clock) = (after(time, seconds(1), clock + seconds(1)), clock + seconds(1));
        }
        assert_eq!(time, clock, "the clock has caught up");
    }
}
