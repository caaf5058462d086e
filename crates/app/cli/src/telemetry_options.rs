//! The options of a switch for monitoring systems.

use crate::output;
use crate::readiness::Readiness;
use anyhow::{Context, Result, anyhow};
use forebay_daemon::{ControlPlane, Daemon, Running};
use forebay_protocol::why_not_listening;
use forebay_server::Address;
use forebay_telemetry::switch::{self, ControlReport};
use forebay_telemetry::{Authorities, Exporter, Pusher, Source, Target, TargetError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options of monitoring.
#[derive(clap::Args, Clone, Debug)]
pub struct TelemetryOptions {
    #[command(flatten)]
    pub export: ExportOptions,
    /// Time one of N packets from the port that delivers it to the port that sends it; 1 for all of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub delay_sample: Option<u64>,
}

/// Where metrics go.
#[derive(clap::Args, Clone, Debug)]
pub struct ExportOptions {
    /// Serve metrics for Prometheus at http://ADDRESS/metrics: HOST:PORT, PORT for this machine alone, :PORT for all
    /// interfaces. Of a switch also /ready, which is 503 while it does not carry traffic
    #[arg(long, value_name = "ADDRESS", value_parser = listening)]
    metrics: Option<String>,
    /// Push metrics to InfluxDB 1 or VictoriaMetrics, http://HOST:8086?db=NAME, if need be with USER:PASSWORD@ before
    /// HOST, or to InfluxDB 2, http://HOST:8086?org=NAME&bucket=NAME; may be repeated
    #[arg(long, value_name = "URL")]
    influx: Vec<String>,
    /// The file with the token for InfluxDB 2
    #[arg(long, value_name = "FILE", requires = "influx")]
    influx_token_file: Option<PathBuf>,
    /// Push metrics to an OpenTelemetry collector (OTLP over HTTP, JSON): http://HOST:4318; may be repeated
    #[arg(long, value_name = "URL")]
    otlp: Vec<String>,
    /// The authority from which certificates for https must come (PEM) [default: those of the system]
    #[arg(long, value_name = "FILE")]
    push_ca: Option<PathBuf>,
    /// The name by which databases tell this process from others [default: the name of the machine]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Seconds between two pushes
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = interval)]
    push_interval: f64,
}

/// Where Debian, Ubuntu and others have the authorities of the system.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Shortest time between two pushes, in seconds.
const INTERVAL_MIN: f64 = 0.1;

fn interval(text: &str) -> Result<f64, String> {
    let seconds = crate::numbers::seconds(text)?;
    if seconds >= INTERVAL_MIN {
        Ok(seconds)
    } else {
        Err(format!("expected at least {INTERVAL_MIN} seconds"))
    }
}

/// Reads where to listen: `HOST:PORT`, `PORT` on this machine, `:PORT` on all interfaces.
///
/// # Errors
/// What is expected, when the text is none of these.
pub fn listening(text: &str) -> Result<String, String> {
    match text.parse::<Address>() {
        Ok(Address::Tcp { host: None, port }) => Ok(format!(":{port}")),
        Ok(address @ Address::Tcp { .. }) => Ok(address.to_string()),
        Ok(Address::Unix(_)) | Err(_) => {
            let notations = "expected HOST:PORT, [IPV6]:PORT, PORT on this machine, or :PORT for all interfaces";
            Err(format!("{notations}; PORT is 0 to 65535"))
        }
    }
}

impl ExportOptions {
    /// Opens sockets; nothing is served or sent yet.
    ///
    /// # Errors
    /// When an address cannot be listened on, or a URL is wrong.
    pub fn open(&self) -> Result<Exporter> {
        let instance = self.instance.clone().unwrap_or_else(machine);
        let mut exporter = Exporter::new(Duration::from_secs_f64(self.push_interval), &instance);
        if let Some(address) = &self.metrics {
            let bound = exporter.listen(address);
            let bound = bound.map_err(|error| {
                anyhow!(
                    "--metrics {address}: cannot listen there: {}",
                    why_not_listening(&error)
                )
            })?;
            output::info(&format!("metrics: http://{bound}/metrics"));
        }
        let targets = self.targets()?;
        let authorities = targets
            .iter()
            .any(Target::is_secure)
            .then(|| self.authorities())
            .transpose()?;
        for target in targets {
            output::info(&format!("metrics are pushed to {target}"));
            exporter.push(Pusher::new(target, authorities.clone(), Box::new(output::warning)));
        }
        Ok(exporter)
    }

    /// The authorities of `--push-ca`, or those of the system.
    fn authorities(&self) -> Result<Authorities> {
        let path = self.push_ca.as_deref().unwrap_or(Path::new(SYSTEM_AUTHORITIES));
        let pem = std::fs::read(path).with_context(|| format!("cannot read {}: see --push-ca", path.display()))?;
        Authorities::of_pem(&pem).map_err(|problem| anyhow!("{}: {problem}", path.display()))
    }

    /// The databases of `--influx`.
    ///
    /// # Errors
    /// When a URL is wrong, or the token cannot be read.
    pub fn influx_targets(&self) -> Result<Vec<Target>> {
        let token = self.influx_token_file.as_ref().map(|path| {
            let text = std::fs::read_to_string(path);
            text.with_context(|| format!("cannot read {}", path.display()))
        });
        let token = token.transpose()?;
        let token = token.as_deref().map(str::trim);
        let targets = self
            .influx
            .iter()
            .map(|url| Target::influx(url, token).map_err(of_option("--influx")));
        targets.collect()
    }

    fn targets(&self) -> Result<Vec<Target>> {
        let mut targets = self.influx_targets()?;
        for url in &self.otlp {
            targets.push(Target::otlp(url).map_err(of_option("--otlp"))?);
        }
        Ok(targets)
    }
}

/// The name of the machine.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_string()
}

fn of_option(option: &'static str) -> impl Fn(TargetError) -> anyhow::Error {
    move |error| anyhow!("{option}: {error}")
}

/// The monitoring of a switch.
pub struct SwitchTelemetry {
    exporter: Exporter,
    source: Option<Source>,
}

impl TelemetryOptions {
    /// Opens what is needed, and lets the switch time packets.
    ///
    /// # Errors
    /// As those of [`ExportOptions::open`].
    pub fn open(&self, daemon: &mut Daemon) -> Result<SwitchTelemetry> {
        if let Some(every) = self.delay_sample {
            daemon.sample_delays(every);
        }
        Ok(SwitchTelemetry {
            exporter: self.export.open()?,
            source: None,
        })
    }
}

impl SwitchTelemetry {
    /// Serves and pushes the metrics of a switch.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(&mut self, running: &Running, control: Option<&ControlPlane>, readiness: &Readiness) -> Result<()> {
        if self.exporter.is_idle() {
            return Ok(());
        }
        let watch = running.watch();
        let control = control.map(|control| (control.server.watch_calls(), control.server.watch_keeping()));
        let source: Source = Arc::new(move || {
            let control = control.as_ref().map(|(calls, keeping)| ControlReport {
                calls: calls(),
                keeping: keeping(),
            });
            switch::families(&watch.report(), &watch.program(), control.as_ref())
        });
        self.source = Some(Arc::clone(&source));
        let readiness = readiness.clone();
        self.exporter.serve_ready(Arc::new(move || readiness.page()));
        self.exporter
            .start(source)
            .context("cannot start the thread of metrics")
    }

    /// Pushes the last values of a switch that has ended.
    pub fn finish(&mut self) {
        if let Some(source) = &self.source {
            self.exporter.finish(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_those_of_controllers() {
        assert_eq!(listening("9100").as_deref(), Ok("127.0.0.1:9100"));
        assert_eq!(listening(":9100").as_deref(), Ok(":9100"));
        assert_eq!(listening("[::1]:9100").as_deref(), Ok("[::1]:9100"));
        for wrong in ["somewhere", "99999", "unix:/run/x"] {
            assert!(
                listening(wrong).is_err_and(|error| error.contains("HOST:PORT")),
                "{wrong}"
            );
        }
    }
}
