//! Requests: what the service does with each, without HTTP.

use crate::config::Config;
use crate::engine::{Command, Devices, Engine, Transmit};
use crate::metrics::{FLOW_METRICS, PORT_METRICS, keep_fields};
use crate::node::{Node, Wrong};
use crate::{API_VERSION, API_VERSIONS};
use serde_json::{Value, json};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What was asked for.
    Json(Value),
    /// A file.
    Bytes(Vec<u8>),
    /// The request is wrong: status 400.
    Wrong(Wrong),
    /// There is no such path or method: status 404.
    Unknown(String),
    /// The service cannot do what it should: status 500.
    Fault(String),
}

impl From<Wrong> for Answer {
    fn from(wrong: Wrong) -> Answer {
        Answer::Wrong(wrong)
    }
}

impl From<String> for Answer {
    fn from(fault: String) -> Answer {
        Answer::Fault(fault)
    }
}

/// The generator behind the service.
pub struct Generator {
    engine: Engine,
    config: Config,
}

impl Generator {
    /// Starts it, without a configuration.
    ///
    /// # Errors
    /// When the system gives no thread, in words.
    pub fn new(devices: impl Devices) -> Result<Generator, String> {
        Ok(Generator {
            engine: Engine::start(devices)?,
            config: Config::default(),
        })
    }

    /// Answers a request; the body is null when there is none.
    pub fn request(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = match (method, path) {
            ("POST", "/config") => self.configure(body),
            ("PATCH", "/config") => self.update(body),
            ("GET", "/config") => Ok(Answer::Json(self.configuration())),
            ("POST", "/control/state") => self.control(&Node::root(body)),
            ("POST", "/monitor/metrics") => self.metrics(&Node::root(body)),
            ("POST", "/monitor/capture") => self.capture(&Node::root(body)),
            ("GET", "/capabilities/version") => Ok(Answer::Json(json!({
                "api_spec_version": API_VERSIONS,
                "sdk_version": API_VERSION,
                "app_version": env!("CARGO_PKG_VERSION"),
            }))),
            ("GET", "/forebay/v1/flows") => self.distributions(),
            ("GET", "/openapi.json") => Ok(Answer::Json(crate::openapi::document())),
            _ => Ok(Answer::Unknown(format!(
                "{method} {path} is not supported; GET /openapi.json lists what is"
            ))),
        };
        answer.unwrap_or_else(|error| error)
    }

    fn configuration(&self) -> Value {
        if self.config.json.is_null() {
            json!({})
        } else {
            self.config.json.clone()
        }
    }

    fn configure(&mut self, body: &Value) -> Result<Answer, Answer> {
        let config = Config::read(body)?;
        self.engine
            .ask(|answer| Command::Configure(Box::new(config.clone()), answer))??;
        let warnings = config.warnings.clone();
        self.config = config;
        Ok(Answer::Json(json!({ "warnings": warnings })))
    }

    /// Changes rates of flows, also of those that send.
    fn update(&mut self, body: &Value) -> Result<Answer, Answer> {
        let (config, rates) = self.config.with_rates(body)?;
        self.engine.ask(|answer| Command::Rates(rates, answer))?;
        self.config = config;
        Ok(Answer::Json(json!({ "warnings": [] })))
    }

    fn control(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["choice", "traffic", "port", "protocol"])?;
        let (choice, chosen) = node.choice("traffic")?;
        match choice {
            "traffic" => self.traffic(&chosen),
            "port" => self.ports(&chosen),
            "protocol" => protocol(&chosen),
            other => Err(node.not_supported(other, &["traffic", "port", "protocol"]).into()),
        }
    }

    fn traffic(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["choice", "flow_transmit"])?;
        let (choice, chosen) = node.choice("flow_transmit")?;
        if choice != "flow_transmit" {
            return Err(node.not_supported(choice, &["flow_transmit"]).into());
        }
        chosen.object(&["flow_names", "state"])?;
        let state = chosen.at("state");
        let transmit = match state.text()? {
            "start" => Transmit::Start,
            "stop" => Transmit::Stop,
            "pause" => Transmit::Pause,
            "resume" => Transmit::Resume,
            _ => return Err(state.wrong("start, stop, pause or resume is expected").into()),
        };
        let names = chosen.at("flow_names");
        let flows = self.indices(&names, self.config.flows.len(), "flow", |name| self.config.flow(name))?;
        let stopped = self.engine.ask(|answer| Command::Transmit(flows, transmit, answer))?;
        let warning = |flow: &usize| {
            let name = &self.config.flows[*flow].name;
            format!(
                "flow {name:?} stays stopped: `resume` goes on where `pause` was, `start` begins anew with counters of 0"
            )
        };
        let warnings: Vec<String> = stopped.iter().map(warning).collect();
        Ok(Answer::Json(json!({ "warnings": warnings })))
    }

    fn ports(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["choice", "capture"])?;
        let (choice, chosen) = node.choice("capture")?;
        if choice != "capture" {
            return Err(node.not_supported(choice, &["capture"]).into());
        }
        chosen.object(&["port_names", "state"])?;
        let state = chosen.at("state");
        let is_on = match state.text()? {
            "start" => true,
            "stop" => false,
            _ => return Err(state.wrong("start or stop is expected").into()),
        };
        let names = chosen.at("port_names");
        let mut ports = self.indices(&names, self.config.ports.len(), "port", |name| self.config.port(name))?;
        if !names.is_there() {
            ports.retain(|port| self.config.captures.iter().any(|capture| capture.port == *port));
        }
        self.engine.ask(|answer| Command::Capture(ports, is_on, answer))?;
        Ok(Answer::Json(json!({ "warnings": [] })))
    }

    /// The indices of what is named; of all when nothing is.
    fn indices(
        &self,
        names: &Node<'_>,
        count: usize,
        what: &str,
        find: impl Fn(&str) -> Option<usize>,
    ) -> Result<Vec<usize>, Wrong> {
        let named = names.texts()?;
        if named.is_empty() {
            return Ok((0..count).collect());
        }
        let index = |name: &String| find(name).ok_or_else(|| names.wrong(format!("there is no {what} {name:?}")));
        named.iter().map(index).collect()
    }

    fn metrics(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["choice", "flow", "port"])?;
        let (choice, chosen) = node.choice("port")?;
        let (key, wanted, of_flows) = match choice {
            "flow" => ("flow_names", "metric_names", true),
            "port" => ("port_names", "column_names", false),
            other => return Err(node.not_supported(other, &["flow", "port"]).into()),
        };
        chosen.object(&[key, wanted])?;
        let wanted = chosen.at(wanted);
        let known = if of_flows { FLOW_METRICS } else { PORT_METRICS };
        for name in wanted.list()? {
            let text = name.text()?;
            if !known.contains(&text) {
                return Err(name
                    .wrong(format!("{text:?} is not supported; supported are {}", known.join(", ")))
                    .into());
            }
        }
        let names = chosen.at(key);
        let (flows, ports) = (self.config.flows.len(), self.config.ports.len());
        match of_flows {
            true => self.indices(&names, flows, "flow", |name| self.config.flow(name))?,
            false => self.indices(&names, ports, "port", |name| self.config.port(name))?,
        };
        let (names, snapshot) = (names.texts()?, self.engine.ask(Command::Metrics)?);
        let mut metrics = match of_flows {
            true => snapshot.flow_metrics(&self.config, &names),
            false => snapshot.port_metrics(&self.config, &names),
        };
        keep_fields(&mut metrics, &wanted.texts()?);
        Ok(Answer::Json(metrics))
    }

    fn capture(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["port_name"])?;
        let name = node.at("port_name");
        let port = self.config.port(name.text()?);
        let port = port.ok_or_else(|| name.wrong(format!("there is no port {:?}", name.text().unwrap_or_default())))?;
        let capture = self.config.captures.iter().find(|capture| capture.port == port);
        let capture = capture.ok_or_else(|| name.wrong("no capture of the configuration names this port"))?;
        let file = self
            .engine
            .ask(|answer| Command::File(port, capture.is_pcapng, answer))?;
        Ok(Answer::Bytes(file))
    }

    fn distributions(&self) -> Result<Answer, Answer> {
        let snapshot = self.engine.ask(Command::Metrics)?;
        Ok(Answer::Json(snapshot.distributions(&self.config)))
    }
}

/// Starts or stops the protocols of all devices. A configuration has no devices, so there is nothing to do: scripts
/// that send this before their traffic go on.
fn protocol(node: &Node<'_>) -> Result<Answer, Answer> {
    node.object(&["choice", "all"])?;
    let (choice, all) = node.choice("all")?;
    if choice != "all" {
        return Err(node.not_supported(choice, &["all"]).into());
    }
    all.object(&["state"])?;
    let state = all.at("state");
    match state.text()? {
        "start" | "stop" => Ok(Answer::Json(json!({ "warnings": [] }))),
        _ => Err(state.wrong("start or stop is expected").into()),
    }
}
