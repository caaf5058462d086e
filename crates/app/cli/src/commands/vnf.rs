//! `forebay vnf`: network functions between an uplink and a downlink: brought up, looked at, measured, taken down.

use super::Status;
use super::run::stop_on_signals;
use crate::functions::{self, Function};
use crate::output;
use crate::readiness;
use crate::statistics;
use crate::tester_progress::TestProgress;
use crate::vnf::measure::{Size, Template};
use crate::vnf::{Instance, RunFolder, Start};
use crate::working::while_working;
use anyhow::{Context, Result};
use clap::Subcommand;
use forebay_tester::search::LimitedBy;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `forebay vnf`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay vnf up nat44 --uplink eth1 --downlink eth2   with entries to try
  forebay vnf up upf --uplink eth1 --downlink eth2 -- --grpc 127.0.0.1:9559
  forebay vnf status
  forebay vnf measure portfwd --uplink eth3 --downlink eth4
  forebay vnf down nat44
`measure` runs on a machine at the other ends of the cables.")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Start a function between two interfaces, and leave it running
    Up(Up),
    /// Say which functions run, and what they have carried
    Status(Show),
    /// Send traffic through a function, and measure rate and latency for each frame size
    Measure(Measure),
    /// End a function
    Down(Down),
}

/// Where instances are remembered.
#[derive(clap::Args)]
struct Place {
    /// The folder of records and logs; without, /run/forebay for root, $XDG_RUNTIME_DIR/forebay for others
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

/// Where functions are.
#[derive(clap::Args)]
struct Functions {
    /// The folder of the functions, as for `forebay function`
    #[arg(long = "functions", value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// The interfaces of a function, or those at the other ends of their cables.
#[derive(clap::Args)]
struct Interfaces {
    /// Port 1: towards users; kinds as for `forebay run -i`, for example packet:eth1
    #[arg(long, value_name = "INTERFACE")]
    uplink: String,
    /// Port 2: towards the network
    #[arg(long, value_name = "INTERFACE")]
    downlink: String,
}

#[derive(clap::Args)]
struct Up {
    /// A function, as `forebay function list` names it, or a small program: portfwd, l2fwd, l3fwd
    function: String,
    /// The name of the instance; without, that of the function
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    interfaces: Interfaces,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    place: Place,
    /// More options of `forebay run`. With --entries or --grpc among them, or in the file of --config, the entries of the
    /// demonstration are left out
    #[arg(value_name = "OPTIONS", last = true)]
    options: Vec<OsString>,
}

#[derive(clap::Args)]
struct Show {
    /// An instance; all without
    name: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Print JSON, with everything that `forebay run --json` says
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Down {
    /// The instance
    name: String,
    #[command(flatten)]
    place: Place,
}

#[derive(clap::Args)]
struct Measure {
    /// The function, whose folder has the traffic: measure.toml
    function: String,
    #[command(flatten)]
    interfaces: Interfaces,
    #[command(flatten)]
    functions: Functions,
    /// Other traffic: a test file of `forebay tester` with one stream, in which ${BYTES} and ${PPS} stand for frame
    /// size and rate
    #[arg(long, value_name = "TEST.toml")]
    traffic: Option<PathBuf>,
    /// Frame sizes in bytes, without check sequence
    #[arg(long, value_delimiter = ',', default_value = "64,128,256,512,1024,1448", value_name = "BYTES,…",
          value_parser = clap::value_parser!(u32).range(60..=9000))]
    sizes: Vec<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.what {
        What::Up(up) => while_working("starting", || bring_up(up)),
        What::Status(show) => status(show),
        What::Measure(measure) => measured(measure),
        What::Down(down) => while_working("ending", || take_down(down)),
    }
}

impl Functions {
    fn find(&self, name: &str) -> Result<Function> {
        functions::find_with_programs(&functions::folder(self.folder.as_deref())?, name)
    }
}

fn bring_up(up: &Up) -> Result<Status> {
    let function = up.functions.find(&up.function)?;
    let folder = RunFolder::open(up.place.run_dir.as_deref())?;
    let stop = stop_on_signals()?;
    let instance = folder.up(&Start {
        name: up.name.as_deref().unwrap_or(&up.function),
        function: &function,
        uplink: &up.interfaces.uplink,
        downlink: &up.interfaces.downlink,
        options: &up.options,
        stop: &stop,
    })?;
    output::info(&format!(
        "{} runs between {} (port 1) and {} (port 2)",
        instance.name, instance.uplink, instance.downlink
    ));
    Ok(Status::Good)
}

fn take_down(down: &Down) -> Result<Status> {
    let folder = RunFolder::open(down.place.run_dir.as_deref())?;
    folder.down(&folder.instance(&down.name)?)?;
    Ok(Status::Good)
}

fn status(show: &Show) -> Result<Status> {
    let folder = RunFolder::open(show.place.run_dir.as_deref())?;
    let instances = match &show.name {
        Some(name) => vec![folder.instance(name)?],
        None => folder.instances()?,
    };
    // One that does not answer keeps none of the others from being shown.
    let describe = |instance: Instance| {
        let statistics = folder.statistics(&instance);
        (instance, statistics)
    };
    let described: Vec<Described> = instances.into_iter().map(describe).collect();
    if show.json {
        output::print_json(&Value::Array(described.iter().map(described_json).collect()))?;
    } else if described.is_empty() {
        output::info("no function is up");
    } else {
        let lines = described
            .iter()
            .map(|(instance, statistics)| line(instance, statistics));
        output::print(&lines.collect::<String>())?;
    }
    let all_run = described
        .iter()
        .all(|(_, statistics)| matches!(statistics, Ok(Some(_))));
    Ok(if all_run { Status::Good } else { Status::Bad })
}

/// An instance with its statistics: none when it does not run any more, an error when it does not answer.
type Described = (Instance, Result<Option<Value>>);

fn described_json((instance, statistics): &Described) -> Value {
    let mut json = instance.json();
    json["running"] = (!matches!(statistics, Ok(None))).into();
    json["statistics"] = Value::Null;
    match statistics {
        Ok(statistics) => json["statistics"] = statistics.clone().unwrap_or_default(),
        Err(error) => json["error"] = format!("{error:#}").into(),
    }
    json
}

/// An instance in words: what its ports have carried, and how long packets were inside.
fn line(instance: &Instance, statistics: &Result<Option<Value>>) -> String {
    let mut text = format!("{}: {} -> {}, ", instance.name, instance.uplink, instance.downlink);
    let statistics = match statistics {
        Ok(Some(statistics)) => statistics,
        Ok(None) => {
            let _ = writeln!(text, "ended by itself; forebay vnf down {} forgets it", instance.name);
            return text;
        }
        Err(error) => {
            let _ = writeln!(text, "running, state unknown: {error:#}");
            return text;
        }
    };
    let _ = writeln!(text, "running, {}", readiness::sentence(&statistics["readiness"]));
    for port in statistics["ports"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "  port {} {} {}: {} in, {} out",
            port["port"],
            port["name"].as_str().unwrap_or_default(),
            port["state"].as_str().unwrap_or_default(),
            port["received_packets"],
            port["sent_packets"]
        );
    }
    for counted in statistics::named_counts_text(&statistics["counters"]).lines() {
        let _ = writeln!(text, "  {counted}");
    }
    let inside = &statistics["inside"];
    if inside["packets"].as_u64().is_some_and(|packets| packets > 0) {
        let time = |key: &str| duration(inside[key].as_f64().unwrap_or(0.0));
        let _ = writeln!(
            text,
            "  inside: half of all packets up to {}, 99 % up to {}, all up to {}",
            time("half_ns"),
            time("percent_99_ns"),
            time("most_ns")
        );
    }
    text
}

fn measured(measure: &Measure) -> Result<Status> {
    let traffic = match &measure.traffic {
        Some(path) => path.clone(),
        None => own_traffic(&measure.functions.find(&measure.function)?)?,
    };
    let interfaces = [(1, &measure.interfaces.uplink), (2, &measure.interfaces.downlink)];
    let interfaces = interfaces.map(|(port, name)| format!("{port}@{name}")).to_vec();
    let template = Template::read(&traffic, interfaces)?;
    let stop = stop_on_signals()?;
    let mut sizes = Vec::new();
    if !measure.json {
        output::print(HEADING)?;
    }
    for &bytes in &measure.sizes {
        let mut progress = TestProgress::new(&stop);
        let size = template.measure(bytes, &mut progress);
        progress.finish();
        let size = match size {
            Ok(size) => size,
            Err(error) => {
                if measure.json && !sizes.is_empty() {
                    output::print_json(&sizes_json(&measure.function, &sizes, Some(&error)))?;
                }
                return Err(error);
            }
        };
        if !measure.json {
            output::print(&row(&size))?;
        }
        sizes.push(size);
    }
    if measure.json {
        output::print_json(&sizes_json(&measure.function, &sizes, None))?;
    } else {
        output::print(&remarks(&sizes))?;
    }
    let all_pass = sizes.iter().all(|size| size.pps.is_some());
    Ok(if all_pass { Status::Good } else { Status::Bad })
}

/// What was measured, and why not all of it was.
fn sizes_json(function: &str, sizes: &[Size], error: Option<&anyhow::Error>) -> Value {
    let sizes: Vec<Value> = sizes.iter().map(Size::json).collect();
    let mut json = json!({ "function": function, "sizes": sizes });
    if let Some(error) = error {
        json["error"] = format!("{error:#}").into();
    }
    json
}

/// The traffic that is in a function's folder.
fn own_traffic(function: &Function) -> Result<PathBuf> {
    let folder = function.program.parent().context("a program is in a folder")?;
    let traffic = folder.join("measure.toml");
    anyhow::ensure!(
        traffic.exists(),
        "{} has no measure.toml: --traffic TEST.toml names a test file of `forebay tester` in which ${{BYTES}} and ${{PPS}} stand for frame size \
         and rate; that of portfwd is an example",
        folder.display()
    );
    Ok(traffic)
}

const HEADING: &str = "\
bytes  frames/s   Mbit/s  limited by  latency, idle: p50       p99  at 90 % load: p50       p99\n";

fn row(size: &Size) -> String {
    let rate = size.pps.map_or("none".to_owned(), |pps| format!("{pps:.0}"));
    let bits = size.mbps().map_or(String::new(), |mbps| format!("{mbps:.1}"));
    let latency = |latency: Option<(f64, f64)>| {
        latency.map_or(("-".to_owned(), "-".to_owned()), |(half, most)| {
            (duration(half), duration(most))
        })
    };
    let ((idle, idle_most), (loaded, loaded_most)) = (latency(size.idle_ns), latency(size.loaded_ns));
    format!(
        "{:>5} {rate:>9} {bits:>8}  {:<11} {idle:>18} {idle_most:>9} {loaded:>18} {loaded_most:>9}{}\n",
        size.bytes,
        limit(size.limited_by),
        size.confirmed.remark()
    )
}

/// A word for the column of what limits.
fn limit(limited_by: LimitedBy) -> &'static str {
    match limited_by {
        LimitedBy::Device => "device",
        LimitedBy::Tester => "tester",
        LimitedBy::HighestLoad => "highest",
        LimitedBy::LeastLoad => "least",
        LimitedBy::LineRate => "line rate",
        LimitedBy::Time => "time",
    }
}

/// What the words of that column mean where the device is not the limit, a line for each that occurs.
fn remarks(sizes: &[Size]) -> String {
    let meanings = [
        (
            LimitedBy::Tester,
            "this machine did not send more frames in time, for example because of other work; the function may carry more",
        ),
        (
            LimitedBy::HighestLoad,
            "the highest rate of the search passes; the function may carry more",
        ),
        (LimitedBy::LeastLoad, "even the least rate of the search does not pass"),
        (LimitedBy::LineRate, "the port carries no more; the function may"),
        (
            LimitedBy::Time,
            "the time for the search was over before a rate was known to pass",
        ),
    ];
    let occurs = |limit: LimitedBy| sizes.iter().any(|size| size.limited_by == limit);
    let occurring = meanings.iter().filter(|(limited_by, _)| occurs(*limited_by));
    let lines = occurring.map(|(limited_by, meaning)| format!("{}: {meaning}\n", limit(*limited_by)));
    let mut text: String = lines.collect();
    let disturbed = |size: &&Size| size.pps.is_none() && size.limited_by == LimitedBy::Tester;
    if let Some(size) = sizes.iter().find(disturbed) {
        let why = why_none(size.late_trials);
        let _ = writeln!(text, "none: {why}; measure again when this machine has less to do");
    }
    text
}

/// Why no rate is known where the tester is the limit, by its late trials and all at rates that the machine can send.
fn why_none((late, all): (usize, usize)) -> String {
    match all {
        0 => "frames were sent too late at every rate that was tried".to_owned(),
        _ if 2 * late > all => {
            format!("frames were sent too late in {late} of {all} trials at rates that this machine can send")
        }
        _ => "the rate that was sent in time is less than half of what this machine can send".to_owned(),
    }
}

fn duration(nanoseconds: f64) -> String {
    format!("{:.1?}", Duration::from_nanos(nanoseconds as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(limited_by: LimitedBy) -> Size {
        Size {
            bytes: 64,
            pps: None,
            late_trials: (3, 4),
            limited_by,
            confirmed: Default::default(),
            idle_ns: None,
            loaded_ns: Some((1_500.0, 2e6)),
        }
    }

    #[test]
    fn an_instance_that_does_not_answer_is_shown_with_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = json!({
            "name": "nat", "program": "nat44.p4", "uplink": "eth1", "downlink": "eth2", "process": 7,
            "started": "2026-12-01T05:06:07.000008Z", "start_ticks": 8
        });
        std::fs::write(folder.path().join("nat.json"), record.to_string()).expect("a folder");
        let folder = RunFolder::open(Some(folder.path())).expect("a folder");
        let instance = folder.instance("nat").expect("its record is there");
        let silent = Err(anyhow::anyhow!("`nat` (process 7) does not answer"));
        let said = line(&instance, &silent);
        assert_eq!(
            said,
            "nat: eth1 -> eth2, running, state unknown: `nat` (process 7) does not answer\n"
        );
        let json = described_json(&(instance.clone(), silent));
        assert_eq!((&json["running"], &json["statistics"]), (&json!(true), &Value::Null));
        assert_eq!(json["error"], "`nat` (process 7) does not answer");
        assert_eq!(described_json(&(instance, Ok(None)))["running"], false);
    }

    #[test]
    fn times_that_were_not_measured_are_dashes() {
        let row = row(&size(LimitedBy::Tester));
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["64", "none", "tester", "-", "-", "1.5µs", "2.0ms"]);
    }

    #[test]
    fn what_was_measured_before_an_error_is_not_lost() {
        let error = anyhow::anyhow!("the test was stopped");
        let json = sizes_json("nat44", &[size(LimitedBy::Tester)], Some(&error));
        assert_eq!(
            (&json["sizes"][0]["bytes"], &json["error"]),
            (&json!(64), &json!("the test was stopped"))
        );
        assert!(sizes_json("nat44", &[], None).get("error").is_none());
    }

    #[test]
    fn limits_that_are_not_the_device_are_explained_once() {
        use LimitedBy::*;
        assert_eq!(remarks(&[size(Device)]), "");
        let all = [Tester, Device, Tester, LeastLoad].map(size);
        let lines: Vec<String> = remarks(&all).lines().map(str::to_owned).collect();
        let words: Vec<&str> = lines.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(words, ["tester", "least", "none"]);
    }

    #[test]
    fn a_rate_that_is_not_known_has_a_reason_that_holds() {
        assert!(why_none((0, 0)).ends_with("at every rate that was tried"));
        assert!(why_none((3, 4)).contains("in 3 of 4 trials"));
        assert!(why_none((1, 4)).contains("less than half"));
    }
}
