//! A configuration of the API: ports, devices, flows, captures. Everything that is not supported is refused.

mod rates;
mod sizes;

use crate::hosts::{self, Interface, Mac};
use crate::node::{Node, Wrong};
use crate::packet::{CHECK_SEQUENCE_BYTES, Defaults, Headers, least_common_multiple};
use forebay_tester::frames::Frames;
use forebay_tester::schedule::{Arrivals, Shape};
use forebay_tester::stream::{Rate, Stream};
use forebay_tester::tag::STREAMS_MAX;
use rates::{duration, rate};
use serde_json::Value;
use sizes::sizes;
use std::net::IpAddr;
use std::sync::Arc;

/// Ports of a configuration at most.
const PORTS_MAX: usize = 64;

/// Frames of all flows together, each of which is kept.
const FRAMES_MAX: usize = 1 << 18;

/// A port without a speed in `layer1` has this one, in bits a second; percentages are shares of it.
const SPEED: f64 = 10e9;

/// What is measured.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// As it was sent.
    pub json: Value,
    /// Its ports.
    pub ports: Vec<PortConfig>,
    /// The interfaces of its devices.
    pub interfaces: Vec<Interface>,
    /// Whether they are started with the configuration.
    pub starts_devices: bool,
    /// Its flows.
    pub flows: Vec<FlowConfig>,
    /// Which ports may be captured, and how.
    pub captures: Vec<CaptureConfig>,
    /// What was taken in another way than it was asked for.
    pub warnings: Vec<String>,
}

/// A port.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct PortConfig {
    pub name: String,
    pub location: String,
}

/// A flow.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct FlowConfig {
    /// The name; two flows have it when it goes in both directions.
    pub name: String,
    /// Its place in the configuration as it was sent.
    pub place: usize,
    /// Indices of ports.
    pub tx: usize,
    pub rx: Vec<usize>,
    pub stream: Stream,
    pub limit: Limit,
    /// How long after its start the first frame is due.
    pub delay_ns: u64,
    /// For each frame in turn the interface whose router gets it. Empty when frames have their destinations.
    pub senders: Vec<usize>,
    pub metrics: Wanted,
}

/// What a flow's metrics contain.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Wanted {
    pub is_enabled: bool,
    pub loss: bool,
    pub latency: bool,
    pub timestamps: bool,
}

/// Another rate of a flow, by its index, with the shape that it gives bursts.
pub type NewRate = (usize, Rate, Shape);

/// When a flow ends by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Never.
    None,
    /// After this number of frames.
    Frames(u64),
    /// After this time in seconds.
    Seconds(f64),
}

/// A capture of a port.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct CaptureConfig {
    /// The index of the port.
    pub port: usize,
    pub is_pcapng: bool,
    /// Whether the last frames are kept when there are too many, not the first ones.
    pub overwrites: bool,
}

impl Config {
    /// Reads it.
    ///
    /// # Errors
    /// The first thing that is wrong or not supported, with its path.
    pub fn read(json: &Value) -> Result<Config, Wrong> {
        let root = Node::root(json);
        root.object(&["ports", "devices", "flows", "captures", "layer1", "options"])?;
        let ports = ports(&root.at("ports"))?;
        let mut config = Config {
            json: json.clone(),
            interfaces: hosts::interfaces(&root.at("devices"), &ports)?,
            ports,
            ..Config::default()
        };
        config.starts_devices = starts_devices(&root.at("options"), &mut config.warnings)?;
        let speeds = speeds(&root.at("layer1"), &config.ports, &mut config.warnings)?;
        let flows = root.at("flows");
        if flows.list()?.len() > STREAMS_MAX {
            return Err(flows.wrong(format!("at most {STREAMS_MAX} flows are possible")));
        }
        let mut frames = 0;
        for (place, node) in flows.list()?.iter().enumerate() {
            let name = node.at("name");
            if !config.flows_of(name.text()?).is_empty() {
                return Err(name.wrong(format!("there are two flows {:?}", name.text()?)));
            }
            for ends in ends(&node.at("tx_rx"), &node.at("packet"), &config)? {
                let flow = flow(node, place, ends, &mut config, &speeds)?;
                frames += flow.stream.frames.templates().len();
                // Before more of them are made.
                if frames > FRAMES_MAX {
                    return Err(flows.wrong(format!("more than {FRAMES_MAX} different frames")));
                }
                config.flows.push(flow);
            }
        }
        if config.flows.len() > STREAMS_MAX {
            return Err(flows.wrong(format!(
                "at most {STREAMS_MAX} flows are possible, each direction of which counts"
            )));
        }
        config.captures = captures(&root.at("captures"), &config.ports)?;
        Ok(config)
    }

    /// The same with other rates of flows that a `Config.Update` names, and these rates.
    ///
    /// # Errors
    /// As [`Config::read`]; also if the update is about something else than rates.
    pub fn with_rates(&self, update: &Value) -> Result<(Config, Vec<NewRate>), Wrong> {
        let root = Node::root(update);
        root.object(&["choice", "flows"])?;
        let (choice, flows) = root.choice("flows")?;
        if choice != "flows" {
            return Err(root.not_supported(choice, &["flows"]));
        }
        flows.object(&["property_names", "flows"])?;
        for property in flows.at("property_names").list()? {
            match property.text()? {
                "rate" => {}
                other => return Err(property.wrong(format!("{other:?} cannot be changed; supported is rate"))),
            }
        }
        let mut json = self.json.clone();
        let mut changed = Vec::new();
        for node in flows.at("flows").list()? {
            let name = node.at("name");
            let own = self.flows_of(name.text()?);
            let Some(first) = own.first() else {
                return Err(name.wrong(format!("there is no flow {:?}", name.text()?)));
            };
            let rate = node.at("rate");
            // A flow without a rate keeps its own. What else it has is passed over, as the API wants it.
            if rate.is_there() {
                json["flows"][self.flows[*first].place]["rate"] = rate.json();
                changed.extend(own);
            }
        }
        let config = Config::read(&json)?;
        let rates = changed.iter().map(|index| {
            let stream = &config.flows[*index].stream;
            (*index, stream.rate, stream.shape.clone())
        });
        let rates = rates.collect();
        Ok((config, rates))
    }

    /// The same with the flows of a `Config.Append`, too.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn with_flows(&self, append: &Value) -> Result<Config, Wrong> {
        let mut flows = self.flows_as_sent();
        for node in of_flows(append, "config_append_list")? {
            flows.extend(node.at("flows").list()?.iter().map(Node::json));
        }
        self.with_only(flows)
    }

    /// The same without the flows that a `Config.Delete` names.
    ///
    /// # Errors
    /// When there is no such flow, or the names are none.
    pub fn without_flows(&self, delete: &Value) -> Result<Config, Wrong> {
        let mut flows = self.flows_as_sent();
        for node in of_flows(delete, "config_delete_list")? {
            for name in node.at("flows").list()? {
                let (text, before) = (name.text()?, flows.len());
                flows.retain(|flow| flow["name"] != text);
                if flows.len() == before {
                    return Err(name.wrong(format!("there is no flow {text:?}")));
                }
            }
        }
        self.with_only(flows)
    }

    fn flows_as_sent(&self) -> Vec<Value> {
        self.json["flows"].as_array().cloned().unwrap_or_default()
    }

    fn with_only(&self, flows: Vec<Value>) -> Result<Config, Wrong> {
        let mut json = self.json.clone();
        json["flows"] = Value::Array(flows);
        Config::read(&json)
    }

    /// The indices of the flows of a name: two when it goes in both directions.
    pub fn flows_of(&self, name: &str) -> Vec<usize> {
        let is_own = |index: &usize| self.flows[*index].name == name;
        (0..self.flows.len()).filter(is_own).collect()
    }

    /// The index of the port of a name, if there is one.
    pub fn ports_of(&self, name: &str) -> Vec<usize> {
        self.port(name).into_iter().collect()
    }

    /// The index of a port.
    pub fn port(&self, name: &str) -> Option<usize> {
        self.ports.iter().position(|port| port.name == name)
    }
}

/// Whether devices are started with the configuration; other options are passed over.
fn starts_devices(node: &Node<'_>, warnings: &mut Vec<String>) -> Result<bool, Wrong> {
    const PASSED_OVER: [&str; 3] = ["port_options", "per_port_options", "flow_options"];
    let [ports, per_port, flows] = PASSED_OVER;
    node.object(&[ports, per_port, flows, "protocol_options"])?;
    for option in PASSED_OVER.map(|key| node.at(key)) {
        if option.is_there() {
            warnings.push(option.wrong("is not supported, and is passed over").to_string());
        }
    }
    let protocols = node.at("protocol_options");
    protocols.object(&["auto_start_all"])?;
    protocols.at("auto_start_all").flag(true)
}

/// What is appended or deleted, which is flows. Clients have the list as a member of this name.
fn of_flows<'a>(json: &'a Value, list: &str) -> Result<Vec<Node<'a>>, Wrong> {
    let root = Node::root(json);
    let all = if json.is_array() {
        root
    } else {
        root.object(&[list])?;
        root.at(list)
    };
    let all = all.list()?;
    for node in &all {
        node.object(&["choice", "flows"])?;
        let (choice, _) = node.choice("flows")?;
        if choice != "flows" {
            return Err(node.not_supported(choice, &["flows"]));
        }
    }
    Ok(all)
}

fn ports(node: &Node<'_>) -> Result<Vec<PortConfig>, Wrong> {
    let mut ports: Vec<PortConfig> = Vec::new();
    for port in node.list()? {
        port.object(&["name", "location"])?;
        let (name, location) = (port.at("name").text()?, port.at("location"));
        if ports.iter().any(|own| own.name == name) {
            return Err(port.at("name").wrong(format!("there are two ports {name:?}")));
        }
        if !location.is_there() {
            return Err(location.wrong("where is it? A number of a port, or an interface, is expected"));
        }
        ports.push(PortConfig {
            name: name.to_string(),
            location: location.text()?.to_string(),
        });
    }
    match ports.len() {
        0..=PORTS_MAX => Ok(ports),
        many => Err(node.wrong(format!("{many} ports; {PORTS_MAX} are possible"))),
    }
}

/// The index of the port with this name.
pub fn port_index(node: &Node<'_>, name: &str, ports: &[PortConfig]) -> Result<usize, Wrong> {
    let index = ports.iter().position(|port| port.name == name);
    index.ok_or_else(|| node.wrong(format!("there is no port {name:?}")))
}

/// Settings of `layer1` that are those of the interface. They are passed over with a warning.
const OF_INTERFACE: [&str; 7] = [
    "media",
    "promiscuous",
    "mtu",
    "ieee_media_defaults",
    "auto_negotiate",
    "auto_negotiation",
    "flow_control",
];

/// Whether it is what clients write that say nothing of this setting.
fn is_default(name: &str, setting: &Node<'_>) -> bool {
    match name {
        "promiscuous" => setting.json() == true,
        "mtu" => setting.json() == 1500,
        _ => false,
    }
}

/// The speed of each port in bits a second.
fn speeds(node: &Node<'_>, ports: &[PortConfig], warnings: &mut Vec<String>) -> Result<Vec<f64>, Wrong> {
    let mut speeds = vec![SPEED; ports.len()];
    for layer in node.list()? {
        let known: Vec<&str> = ["name", "port_names", "speed"]
            .into_iter()
            .chain(OF_INTERFACE)
            .collect();
        layer.object(&known)?;
        for name in OF_INTERFACE {
            let setting = layer.at(name);
            if setting.is_there() && !is_default(name, &setting) {
                let warning = setting.wrong("is that of the interface, and is passed over");
                warnings.push(warning.to_string());
            }
        }
        let speed = layer.at("speed");
        let speed = if speed.is_there() {
            Some(speed_of(speed.text()?).ok_or_else(|| speed.wrong("a speed like speed_10_gbps is expected"))?)
        } else {
            None
        };
        let names = layer.at("port_names");
        for name in names.texts()? {
            let port = port_index(&names, &name, ports)?;
            speeds[port] = speed.unwrap_or(speeds[port]);
        }
    }
    Ok(speeds)
}

/// The speeds of the API in bits a second: `speed_10_gbps`, `speed_100_fd_mbps`.
fn speed_of(text: &str) -> Option<f64> {
    let text = text.strip_prefix("speed_")?;
    if let Some(number) = text.strip_suffix("_gbps") {
        let is_known = ["1", "10", "25", "40", "50", "100", "200", "400", "800"].contains(&number);
        let number: f64 = number.parse().ok()?;
        return is_known.then_some(number * 1e9);
    }
    match text {
        "10_fd_mbps" | "10_hd_mbps" => Some(10e6),
        "100_fd_mbps" | "100_hd_mbps" => Some(100e6),
        _ => None,
    }
}

/// A flow between these ends.
fn flow(node: &Node<'_>, place: usize, ends: Ends, config: &mut Config, speeds: &[f64]) -> Result<FlowConfig, Wrong> {
    node.object(&["name", "tx_rx", "packet", "size", "rate", "duration", "metrics"])?;
    let name = node.at("name").text()?.to_string();
    let packet = node.at("packet");
    let Ends { tx, rx, pairs, is_back } = ends;
    let interfaces = &config.interfaces;
    let headers: Vec<Headers> = if pairs.is_empty() {
        vec![Headers::read(&packet, &Defaults::default())?]
    } else {
        let headers = |(from, to): &(usize, usize)| {
            let (from, to) = (&interfaces[*from], &interfaces[*to]);
            if is_back {
                // What the flow says of its sender is said of the receiver. The tag is that of the sender.
                let defaults = Defaults {
                    vlan: from.vlan,
                    ..defaults(to, from)
                };
                Headers::read(&packet, &defaults).map(Headers::reversed)
            } else {
                Headers::read(&packet, &defaults(from, to))
            }
        };
        pairs.iter().map(headers).collect::<Result<_, _>>()?
    };
    let warnings = &mut config.warnings;
    let frames = frames(&headers, &node.at("size"), warnings)?;
    let has_router = |(from, _): &(usize, usize)| interfaces[*from].address.is_some();
    let destination = if is_back { "src" } else { "dst" };
    let senders = if pairs.iter().all(has_router) && Headers::asks_for(&packet, destination)? {
        pairs.iter().map(|(from, _)| *from).collect()
    } else {
        Vec::new()
    };
    let mut stream = Stream {
        name: name.clone(),
        from: tx as u32,
        to: None,
        frames: Arc::new(frames),
        rate: rate(&node.at("rate"), speeds[tx])?,
        arrivals: Arrivals::Constant,
        shape: Shape::flat(),
        messages: None,
    };
    let (limit, delay_ns) = duration(&node.at("duration"), &mut stream, speeds[tx], warnings)?;
    Ok(FlowConfig {
        name,
        place,
        tx,
        rx,
        stream,
        limit,
        delay_ns,
        senders,
        metrics: wanted(&node.at("metrics"))?,
    })
}

/// Where a flow goes.
struct Ends {
    /// Indices of ports.
    tx: usize,
    rx: Vec<usize>,
    /// The interfaces of devices that send and receive, in turn; none between ports.
    pairs: Vec<(usize, usize)>,
    /// Whether it is the other direction of a flow.
    is_back: bool,
}

impl Ends {
    /// The ends of a flow between pairs of interfaces.
    fn of(pairs: Vec<(usize, usize)>, interfaces: &[Interface], is_back: bool) -> Ends {
        let mut rx: Vec<usize> = pairs.iter().map(|(_, to)| interfaces[*to].port).collect();
        rx.sort_unstable();
        rx.dedup();
        Ends {
            tx: interfaces[pairs[0].0].port,
            rx,
            pairs,
            is_back,
        }
    }
}

/// Where a flow goes, in each of its directions.
fn ends(node: &Node<'_>, packet: &Node<'_>, config: &Config) -> Result<Vec<Ends>, Wrong> {
    node.object(&["choice", "port", "device"])?;
    match node.choice("port")? {
        ("port", port) => {
            let (tx, rx) = port_ends(&port, &config.ports)?;
            Ok(vec![Ends {
                tx,
                rx,
                pairs: Vec::new(),
                is_back: false,
            }])
        }
        ("device", device) => {
            let interfaces = &config.interfaces;
            let pairs = hosts::pairs(&device, interfaces, Headers::version(packet)?)?;
            let back: Vec<(usize, usize)> = pairs.iter().map(|(from, to)| (*to, *from)).collect();
            let there = Ends::of(pairs, interfaces, false);
            let both = device.at("bidirectional");
            if !both.flag(false)? {
                Ok(vec![there])
            } else if there.rx.len() > 1 {
                Err(both.wrong("receivers of one port are expected, since they send, too"))
            } else {
                Ok(vec![there, Ends::of(back, interfaces, true)])
            }
        }
        (other, _) => Err(node.not_supported(other, &["port", "device"])),
    }
}

/// What frames between two interfaces have, where the flow does not say it.
fn defaults(from: &Interface, to: &Interface) -> Defaults {
    let mac = |mac: Mac| mac.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
    let mut defaults = Defaults {
        macs: (mac(from.mac), mac(to.mac)),
        vlan: from.vlan,
        is_ipv6: from.is_ipv6(),
        ..Defaults::default()
    };
    if let (Some(from), Some(to)) = (&from.address, &to.address) {
        match (from.own, to.own) {
            (IpAddr::V4(from), IpAddr::V4(to)) => defaults.ipv4 = (from.to_bits().into(), to.to_bits().into()),
            (IpAddr::V6(from), IpAddr::V6(to)) => defaults.ipv6 = (from.to_bits(), to.to_bits()),
            _ => {}
        }
    }
    defaults
}

fn port_ends(port: &Node<'_>, ports: &[PortConfig]) -> Result<(usize, Vec<usize>), Wrong> {
    port.object(&["tx_name", "rx_name", "rx_names"])?;
    let tx = port.at("tx_name");
    let tx = port_index(&tx, tx.text()?, ports)?;
    let (one, several) = (port.at("rx_name"), port.at("rx_names"));
    let mut names = several.texts()?;
    if one.is_there() && !names.iter().any(|name| Ok(name.as_str()) == one.text()) {
        names.push(one.text()?.to_string());
    }
    let rx: Vec<usize> = names
        .iter()
        .map(|name| port_index(&several, name, ports))
        .collect::<Result<_, _>>()?;
    // Without any, a flow may come out everywhere.
    Ok((tx, if rx.is_empty() { (0..ports.len()).collect() } else { rx }))
}

/// The frames of a flow. Pairs of ends, fields and sizes all go on with each frame.
fn frames(headers: &[Headers], size: &Node<'_>, warnings: &mut Vec<String>) -> Result<Frames, Wrong> {
    let mut sizes = sizes(size)?;
    // Fields have the same period for all pairs.
    let count = headers[0]
        .period()
        .and_then(|period| least_common_multiple(period, sizes.len()))
        .and_then(|period| least_common_multiple(period, headers.len()));
    let count =
        count.ok_or_else(|| size.wrong("fields, sizes and pairs of devices do not begin again within 65536 frames"))?;
    // Of each frame: the headers of GRE and GTP-U are longer with some flags.
    let least = (0..count).map(|index| headers[index % headers.len()].bytes_min(index));
    let least = least.max().unwrap_or_default() + CHECK_SEQUENCE_BYTES;
    if let Some(short) = sizes.iter().find(|bytes| **bytes < least) {
        warnings.push(
            size.wrong(format!(
                "{short} bytes are too short for these headers and the tester's tag; {least} are sent"
            ))
            .to_string(),
        );
        sizes.iter_mut().for_each(|bytes| *bytes = (*bytes).max(least));
    }
    let frame = |index: usize| {
        let bytes = sizes[index % sizes.len()] - CHECK_SEQUENCE_BYTES;
        headers[index % headers.len()].frame(index, bytes)
    };
    Ok(Frames::in_turn((0..count).map(frame).collect()))
}

fn wanted(node: &Node<'_>) -> Result<Wanted, Wrong> {
    if !node.is_there() {
        return Ok(Wanted::default());
    }
    node.object(&["enable", "loss", "latency", "timestamps"])?;
    let latency = node.at("latency");
    if latency.is_there() {
        latency.object(&["enable", "mode"])?;
        let mode = latency.at("mode");
        if mode.is_there() && mode.text()? != "store_forward" {
            return Err(
                mode.wrong("store_forward is what is measured: in memory and between interfaces frames are whole")
            );
        }
    }
    Ok(Wanted {
        is_enabled: node.at("enable").flag(false)?,
        loss: node.at("loss").flag(false)?,
        latency: latency.is_there() && latency.at("enable").flag(false)?,
        timestamps: node.at("timestamps").flag(false)?,
    })
}

fn captures(node: &Node<'_>, ports: &[PortConfig]) -> Result<Vec<CaptureConfig>, Wrong> {
    let mut captures = Vec::new();
    for capture in node.list()? {
        capture.object(&["name", "port_names", "format", "overwrite"])?;
        let format = capture.at("format");
        let is_pcapng = match format.is_there().then(|| format.text()).transpose()? {
            None | Some("pcap") => false,
            Some("pcapng") => true,
            Some(_) => return Err(format.wrong("pcap or pcapng is expected")),
        };
        let overwrites = capture.at("overwrite").flag(true)?;
        let names = capture.at("port_names");
        for name in names.texts()? {
            let port = port_index(&names, &name, ports)?;
            captures.push(CaptureConfig {
                port,
                is_pcapng,
                overwrites,
            });
        }
    }
    Ok(captures)
}

#[cfg(test)]
mod tests;
