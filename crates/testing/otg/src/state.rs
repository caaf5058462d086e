//! Requests: what the service does with each, without HTTP.

use crate::config::Config;
use crate::engine::{Command, Devices, Engine, Transmit};
use crate::hosts::Interface;
use crate::metrics::{FLOW_METRICS, PORT_METRICS, keep_fields};
use crate::neighbours::Ping;
use crate::node::{Node, Wrong};
use crate::{API_VERSION, API_VERSIONS};
use forebay_tester::clock::Clock;
use forebay_tester::self_test::SelfTest;
use forebay_tester::stream::Stream;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a start of flows waits for routers that have not answered yet.
const ROUTERS_ANSWER: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(5);

/// How long pings have for their answers, and how many there are at once at most.
const PING_ANSWER: Duration = Duration::from_millis(300);
const PINGS_MAX: usize = 256;

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
    /// The tester on a wire, when flows of this configuration were started last.
    self_test: Option<SelfTest>,
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
            self_test: None,
        })
    }

    /// Answers a request; the body is null when there is none.
    pub fn request(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = match (method, path) {
            ("POST", "/config") => self.configure(body),
            ("PATCH", "/config") => self.update(body),
            ("PATCH", "/config/append") => self.append(body),
            ("PATCH", "/config/delete") => self.delete(body),
            ("GET", "/config") => Ok(Answer::Json(self.configuration())),
            ("POST", "/control/state") => self.control(&Node::root(body)),
            ("POST", "/control/action") => self.action(&Node::root(body)),
            ("POST", "/monitor/metrics") => self.metrics(&Node::root(body)),
            ("POST", "/monitor/states") => self.states(&Node::root(body)),
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
        self.replace(Config::read(body)?)
    }

    /// Adds flows.
    fn append(&mut self, body: &Value) -> Result<Answer, Answer> {
        let config = self.config.with_flows(body)?;
        self.replace_flows(config)
    }

    /// Removes flows.
    fn delete(&mut self, body: &Value) -> Result<Answer, Answer> {
        let config = self.config.without_flows(body)?;
        self.replace_flows(config)
    }

    fn replace_flows(&mut self, mut config: Config) -> Result<Answer, Answer> {
        config
            .warnings
            .push("all flows are stopped, and their counters begin anew".to_string());
        self.replace(config)
    }

    /// A configuration takes the place of the present one.
    fn replace(&mut self, config: Config) -> Result<Answer, Answer> {
        self.engine
            .ask(|answer| Command::Configure(Box::new(config.clone()), answer))??;
        let warnings = config.warnings.clone();
        (self.config, self.self_test) = (config, None);
        Ok(Answer::Json(json!({ "warnings": warnings })))
    }

    /// Changes rates of flows, also of those that send.
    fn update(&mut self, body: &Value) -> Result<Answer, Answer> {
        let (config, rates) = self.config.with_rates(body)?;
        self.engine.ask(|answer| Command::Rates(rates, answer))?;
        self.config = config;
        Ok(Answer::Json(json!({ "warnings": [] })))
    }

    fn control(&mut self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["choice", "traffic", "port", "protocol"])?;
        let (choice, chosen) = node.choice("traffic")?;
        match choice {
            "traffic" => self.traffic(&chosen),
            "port" => self.ports(&chosen),
            "protocol" => self.protocols(&chosen),
            other => Err(node.not_supported(other, &["traffic", "port", "protocol"]).into()),
        }
    }

    fn traffic(&mut self, node: &Node<'_>) -> Result<Answer, Answer> {
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
        let flows = self.indices(&names, self.config.flows.len(), "flow", |name| {
            self.config.flows_of(name)
        })?;
        // Those that have stopped begin again when they are resumed.
        if matches!(transmit, Transmit::Start | Transmit::Resume) {
            self.routers_of(&flows)?;
        }
        let doubts = match transmit {
            Transmit::Start => self.test_tester(&flows)?,
            Transmit::Stop | Transmit::Pause | Transmit::Resume => Vec::new(),
        };
        self.engine.ask(|answer| Command::Transmit(flows, transmit, answer))?;
        Ok(Answer::Json(json!({ "warnings": doubts })))
    }

    /// Measures the tester itself with these flows on a wire in memory, before they start, and says what is wrong with it.
    /// While other flows send it would disturb them, so then it does not.
    fn test_tester(&mut self, flows: &[usize]) -> Result<Vec<String>, Answer> {
        let snapshot = self.engine.ask(Command::Metrics)?;
        let streams = flows.iter().map(|flow| self.config.flows[*flow].stream.clone());
        let streams: Vec<Stream> = streams.collect();
        if streams.is_empty() || snapshot.flows.iter().any(|flow| flow.is_sending) {
            return Ok(Vec::new());
        }
        let ports: Vec<u32> = (0..).take(self.config.ports.len()).collect();
        let found = SelfTest::measure(&streams, &ports, SelfTest::PLAN, &mut Clock::machine())?;
        let doubts = found.doubts();
        self.self_test = Some(found);
        Ok(doubts)
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
        let mut ports = self.indices(&names, self.config.ports.len(), "port", |name| {
            self.config.ports_of(name)
        })?;
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
        find: impl Fn(&str) -> Vec<usize>,
    ) -> Result<Vec<usize>, Wrong> {
        let named = names.texts()?;
        if named.is_empty() {
            return Ok((0..count).collect());
        }
        let mut all = Vec::new();
        for name in &named {
            let found = find(name);
            if found.is_empty() {
                return Err(names.wrong(format!("there is no {what} {name:?}")));
            }
            all.extend(found);
        }
        Ok(all)
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
        let asked = if of_flows {
            self.indices(&names, flows, "flow", |name| self.config.flows_of(name))?
        } else {
            self.indices(&names, ports, "port", |name| self.config.ports_of(name))?
        };
        if of_flows && !names.list()?.is_empty() {
            let mut all = asked.iter().map(|index| &self.config.flows[*index]);
            if let Some(flow) = all.find(|flow| !flow.metrics.is_enabled) {
                let message = format!("flow {:?} has no metrics; its metrics.enable makes them", flow.name);
                return Err(names.wrong(message).into());
            }
        }
        let (names, snapshot) = (names.texts()?, self.engine.ask(Command::Metrics)?);
        let mut metrics = if of_flows {
            snapshot.flow_metrics(&self.config, &names)
        } else {
            snapshot.port_metrics(&self.config, &names)
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

    /// Waits until the routers of all devices that these flows send from are known.
    fn routers_of(&self, flows: &[usize]) -> Result<(), Answer> {
        let until = Instant::now() + ROUTERS_ANSWER;
        loop {
            let (is_on, routers) = self.engine.ask(Command::Routers)?;
            let unknown = flows.iter().find_map(|flow| {
                let flow = &self.config.flows[*flow];
                let sender = flow.senders.iter().find(|sender| routers[**sender].is_none())?;
                Some((flow, &self.config.interfaces[*sender]))
            });
            let Some((flow, interface)) = unknown else {
                return Ok(());
            };
            if is_on && Instant::now() < until {
                std::thread::sleep(LOOK);
                continue;
            }
            let gateway = interface
                .address
                .as_ref()
                .map_or("?".to_string(), |address| address.gateway.to_string());
            let name = interface.names.last().map_or("", String::as_str);
            let why = if is_on {
                "it has not answered"
            } else {
                "the protocols of devices are stopped"
            };
            let message = format!(
                "flow {:?}: the MAC address of {gateway}, the gateway of {name:?}, is not known: {why}",
                flow.name
            );
            return Err(Answer::Wrong(Wrong {
                path: String::new(),
                message,
            }));
        }
    }

    /// Pings.
    fn action(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        const VERSIONS: [&str; 2] = ["ipv4", "ipv6"];
        node.object(&["choice", "protocol"])?;
        let (choice, protocol) = node.choice("protocol")?;
        if choice != "protocol" {
            return Err(node.not_supported(choice, &["protocol"]).into());
        }
        protocol.object(&["choice", VERSIONS[0], VERSIONS[1]])?;
        let (version, chosen) = protocol.choice(VERSIONS[0])?;
        if !VERSIONS.contains(&version) {
            return Err(protocol.not_supported(version, &VERSIONS).into());
        }
        chosen.object(&["choice", "ping"])?;
        let (choice, ping) = chosen.choice("ping")?;
        if choice != "ping" {
            return Err(chosen.not_supported(choice, &["ping"]).into());
        }
        ping.object(&["requests"])?;
        let requests = ping.at("requests");
        let (mut pings, mut responses) = (Vec::new(), Vec::new());
        for request in requests.list()? {
            request.object(&["src_name", "dst_ip"])?;
            let (name, target) = (request.at("src_name"), request.at("dst_ip"));
            let ping = self.ping(&name, &target, version == VERSIONS[1])?;
            responses.push(json!({ "src_name": name.json(), "dst_ip": target.json() }));
            pings.push(ping);
        }
        if pings.len() > PINGS_MAX {
            return Err(requests.wrong(format!("at most {PINGS_MAX} are possible")).into());
        }
        for (response, is_answered) in responses.iter_mut().zip(self.answered(pings)?) {
            response["result"] = json!(if is_answered { "succeeded" } else { "failed" });
        }
        let ping = json!({ "choice": "ping", "ping": { "responses": responses } });
        let protocol = json!({ "choice": version, version: ping });
        Ok(Answer::Json(json!({
            "warnings": [],
            "response": { "choice": "protocol", "protocol": protocol },
        })))
    }

    fn ping(&self, name: &Node<'_>, target: &Node<'_>, is_ipv6: bool) -> Result<Ping, Wrong> {
        let text = name.text()?;
        let is_named = |interface: &Interface| {
            let is_named = interface.names.iter().any(|own| own == text);
            is_named && interface.is_ipv6() == Some(is_ipv6)
        };
        let interface = self.config.interfaces.iter().position(is_named);
        let version = if is_ipv6 { "IPv6" } else { "IPv4" };
        let address: Option<IpAddr> = target.text()?.parse().ok();
        let address = address.filter(|address| address.is_ipv6() == is_ipv6);
        Ok(Ping {
            interface: interface.ok_or_else(|| name.wrong(format!("there is no {version} address {text:?}")))?,
            target: address.ok_or_else(|| target.wrong(format!("an {version} address is expected")))?,
            is_answered: false,
        })
    }

    /// Sends pings, and says which of them have been answered in time.
    fn answered(&self, pings: Vec<Ping>) -> Result<Vec<bool>, String> {
        let until = Instant::now() + PING_ANSWER;
        self.engine.ask(|answer| Command::Ping(pings, answer))?;
        loop {
            let answered: Vec<bool> = self
                .engine
                .ask(Command::Pings)?
                .iter()
                .map(|ping| ping.is_answered)
                .collect();
            if Instant::now() >= until || answered.iter().all(|is_answered| *is_answered) {
                return Ok(answered);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Starts or stops all devices.
    fn protocols(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        node.object(&["choice", "all"])?;
        let (choice, all) = node.choice("all")?;
        if choice != "all" {
            return Err(node.not_supported(choice, &["all"]).into());
        }
        all.object(&["state"])?;
        let state = all.at("state");
        let is_on = match state.text()? {
            "start" => true,
            "stop" => false,
            _ => return Err(state.wrong("start or stop is expected").into()),
        };
        self.engine.ask(|answer| Command::Protocols(is_on, answer))?;
        Ok(Answer::Json(json!({ "warnings": [] })))
    }

    /// Which routers devices have found.
    fn states(&self, node: &Node<'_>) -> Result<Answer, Answer> {
        const CHOICES: [&str; 2] = ["ipv4_neighbors", "ipv6_neighbors"];
        node.object(&["choice", CHOICES[0], CHOICES[1]])?;
        let (choice, chosen) = node.choice(CHOICES[0])?;
        if !CHOICES.contains(&choice) {
            return Err(node.not_supported(choice, &CHOICES).into());
        }
        chosen.object(&["ethernet_names"])?;
        let (is_ipv6, names) = (choice == CHOICES[1], chosen.at("ethernet_names"));
        let wanted = names.texts()?;
        let interfaces = &self.config.interfaces;
        if let Some(unknown) = wanted
            .iter()
            .find(|name| !interfaces.iter().any(|one| one.ethernet == **name))
        {
            return Err(names
                .wrong(format!("there is no Ethernet interface {unknown:?}"))
                .into());
        }
        let (_, routers) = self.engine.ask(Command::Routers)?;
        let found = interfaces.iter().zip(routers).filter_map(|(interface, router)| {
            let gateway = interface.address.as_ref()?.gateway;
            let is_wanted = wanted.is_empty() || wanted.contains(&interface.ethernet);
            if gateway.is_ipv6() != is_ipv6 || !is_wanted {
                return None;
            }
            let key = if is_ipv6 { "ipv6_address" } else { "ipv4_address" };
            let mut state = json!({ "ethernet_name": interface.ethernet, key: gateway.to_string() });
            if let Some(mac) = router {
                state["link_layer_address"] = json!(mac.map(|byte| format!("{byte:02x}")).join(":"));
            }
            Some(state)
        });
        Ok(Answer::Json(
            json!({ "choice": choice, choice: found.collect::<Vec<_>>() }),
        ))
    }

    fn distributions(&self) -> Result<Answer, Answer> {
        let snapshot = self.engine.ask(Command::Metrics)?;
        let mut distributions = snapshot.distributions(&self.config);
        distributions["self_test"] = json!(self.self_test);
        Ok(Answer::Json(distributions))
    }
}
