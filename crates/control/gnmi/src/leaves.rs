//! The values of interfaces with their paths, and which of them a client's path means.

use super::interfaces::Interface;
use forebay_packet::GroupCounters;
use forebay_protocol::gnmi::get_request::DataType;
use forebay_protocol::gnmi::typed_value::Value;
use forebay_protocol::gnmi::{Encoding, Path, PathElem, TypedValue};
use std::collections::{BTreeMap, BTreeSet};
use tonic::Status;

/// The type of every interface (openconfig-interfaces imports it of iana-if-type).
pub(crate) const INTERFACE_TYPE: &str = "iana-if-type:ethernetCsmacd";

/// Values in the answer to a Get, and of all streams of a connection together: what a client may cost others.
pub(crate) const VALUES_MAX: usize = 65_536;

/// A value of an interface.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Text(String),
    /// A number of 8, 16 or 32 bits.
    Short(u32),
    /// A number of 64 bits.
    Long(u64),
    Flag(bool),
}

/// A model of OpenConfig, at the version whose leaves are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Interfaces,
    Ethernet,
    P4Rt,
}

impl Model {
    pub(crate) const ALL: [Model; 3] = [Model::Interfaces, Model::Ethernet, Model::P4Rt];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Model::Interfaces => "openconfig-interfaces",
            Model::Ethernet => "openconfig-if-ethernet",
            Model::P4Rt => "openconfig-p4rt",
        }
    }

    pub(crate) fn version(self) -> &'static str {
        match self {
            Model::Interfaces => "3.5.0",
            Model::Ethernet => "2.12.2",
            Model::P4Rt => "0.4.0",
        }
    }
}

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The key of the list, neither configuration nor state.
    Key,
    Config,
    /// What was applied of a configuration.
    Applied,
    /// State that no configuration has (`oc-ext:operational`).
    Operational,
    /// The same, which changes with every packet.
    Counter,
}

/// A leaf of the schema: its names below `/interfaces/interface[name=…]/`, and its value; none where an interface has
/// no such thing.
struct Schema {
    names: &'static [&'static str],
    model: Model,
    kind: Kind,
    value: fn(&Interface) -> Option<Scalar>,
}

fn text(text: &str) -> Option<Scalar> {
    Some(Scalar::Text(text.to_string()))
}

fn name(interface: &Interface) -> Option<Scalar> {
    text(&interface.info.name)
}

fn interface_type(_: &Interface) -> Option<Scalar> {
    text(INTERFACE_TYPE)
}

fn number(interface: &Interface) -> Option<Scalar> {
    Some(Scalar::Short(interface.info.number))
}

fn enabled(interface: &Interface) -> Option<Scalar> {
    Some(Scalar::Flag(interface.is_enabled))
}

fn admin_status(interface: &Interface) -> Option<Scalar> {
    text(if interface.is_enabled { "UP" } else { "DOWN" })
}

fn mac_address(interface: &Interface) -> Option<Scalar> {
    let octets = interface.info.mac_address?.map(|octet| format!("{octet:02x}"));
    Some(Scalar::Text(octets.join(":")))
}

/// Packets for one station: those that are not for several.
fn unicast(packets: u64, groups: GroupCounters) -> Option<Scalar> {
    Some(Scalar::Long(packets.saturating_sub(groups.total())))
}

/// A leaf of openconfig-interfaces.
const fn leaf(names: &'static [&'static str], kind: Kind, value: fn(&Interface) -> Option<Scalar>) -> Schema {
    Schema {
        names,
        model: Model::Interfaces,
        kind,
        value,
    }
}

/// A leaf of another model.
const fn leaf_of(model: Model, names: &'static [&'static str], value: fn(&Interface) -> Option<Scalar>) -> Schema {
    Schema {
        model,
        ..leaf(names, Kind::Applied, value)
    }
}

/// Every leaf.
const SCHEMA: &[Schema] = &[
    leaf(&["name"], Kind::Key, name),
    leaf(&["config", "name"], Kind::Config, name),
    leaf(&["config", "type"], Kind::Config, interface_type),
    leaf(&["config", "enabled"], Kind::Config, enabled),
    leaf(&["state", "name"], Kind::Applied, name),
    leaf(&["state", "type"], Kind::Applied, interface_type),
    leaf(&["state", "ifindex"], Kind::Operational, number),
    leaf_of(Model::P4Rt, &["state", "id"], number),
    leaf(&["state", "enabled"], Kind::Applied, enabled),
    leaf(&["state", "admin-status"], Kind::Operational, admin_status),
    leaf(&["state", "oper-status"], Kind::Operational, |interface| {
        text(interface.oper_status())
    }),
    leaf(&["state", "last-change"], Kind::Operational, |interface| {
        Some(Scalar::Long(interface.last_change_ns as u64))
    }),
    leaf(&["state", "counters", "in-octets"], Kind::Counter, |interface| {
        Some(Scalar::Long(interface.status.counters.received_bytes))
    }),
    leaf(&["state", "counters", "in-pkts"], Kind::Counter, |interface| {
        Some(Scalar::Long(interface.status.counters.received_packets))
    }),
    leaf(&["state", "counters", "in-unicast-pkts"], Kind::Counter, |interface| {
        let counters = &interface.status.counters;
        unicast(counters.received_packets, counters.received_groups)
    }),
    leaf(
        &["state", "counters", "in-broadcast-pkts"],
        Kind::Counter,
        |interface| Some(Scalar::Long(interface.status.counters.received_groups.broadcast)),
    ),
    leaf(
        &["state", "counters", "in-multicast-pkts"],
        Kind::Counter,
        |interface| Some(Scalar::Long(interface.status.counters.received_groups.multicast)),
    ),
    leaf(&["state", "counters", "in-discards"], Kind::Counter, |interface| {
        Some(Scalar::Long(interface.in_discards()))
    }),
    leaf(&["state", "counters", "out-octets"], Kind::Counter, |interface| {
        Some(Scalar::Long(interface.status.counters.sent_bytes))
    }),
    leaf(&["state", "counters", "out-pkts"], Kind::Counter, |interface| {
        Some(Scalar::Long(interface.status.counters.sent_packets))
    }),
    leaf(&["state", "counters", "out-unicast-pkts"], Kind::Counter, |interface| {
        let counters = &interface.status.counters;
        unicast(counters.sent_packets, counters.sent_groups)
    }),
    leaf(
        &["state", "counters", "out-broadcast-pkts"],
        Kind::Counter,
        |interface| Some(Scalar::Long(interface.status.counters.sent_groups.broadcast)),
    ),
    leaf(
        &["state", "counters", "out-multicast-pkts"],
        Kind::Counter,
        |interface| Some(Scalar::Long(interface.status.counters.sent_groups.multicast)),
    ),
    leaf(&["state", "counters", "out-discards"], Kind::Counter, |interface| {
        Some(Scalar::Long(interface.out_discards()))
    }),
    leaf(&["state", "mtu"], Kind::Applied, |interface| {
        interface.info.mtu.map(Scalar::Short)
    }),
    leaf_of(Model::Ethernet, &["ethernet", "state", "mac-address"], mac_address),
    leaf_of(Model::Ethernet, &["ethernet", "state", "port-speed"], |interface| {
        text(port_speed(interface.info.speed_mbps?))
    }),
];

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    /// Its number among the leaves of all interfaces, in which those count too that an interface has not at present.
    pub(crate) place: usize,
    pub(crate) interface: String,
    /// Below `/interfaces/interface[name=…]/`.
    pub(crate) names: &'static [&'static str],
    pub(crate) model: Model,
    kind: Kind,
    pub(crate) value: Scalar,
}

/// The value at a place, if its interface has it now.
fn at(interfaces: &[Interface], place: usize) -> Option<Leaf> {
    let interface = interfaces.get(place / SCHEMA.len())?;
    let schema = &SCHEMA[place % SCHEMA.len()];
    Some(Leaf {
        place,
        interface: interface.info.name.clone(),
        names: schema.names,
        model: schema.model,
        kind: schema.kind,
        value: (schema.value)(interface)?,
    })
}

/// The identity of OpenConfig's model for a speed.
fn port_speed(mbps: u32) -> &'static str {
    match mbps {
        10 => "SPEED_10MB",
        100 => "SPEED_100MB",
        1_000 => "SPEED_1GB",
        2_500 => "SPEED_2500MB",
        5_000 => "SPEED_5GB",
        10_000 => "SPEED_10GB",
        25_000 => "SPEED_25GB",
        40_000 => "SPEED_40GB",
        50_000 => "SPEED_50GB",
        100_000 => "SPEED_100GB",
        200_000 => "SPEED_200GB",
        400_000 => "SPEED_400GB",
        _ => "SPEED_UNKNOWN",
    }
}

/// Every value of all interfaces, in the order of their places.
#[cfg(test)]
pub(crate) fn all(interfaces: &[Interface]) -> Vec<Leaf> {
    let places = 0..interfaces.len() * SCHEMA.len();
    places.filter_map(|place| at(interfaces, place)).collect()
}

/// The values at these places that interfaces have now, in the same order.
pub(crate) fn at_places(interfaces: &[Interface], places: &[usize]) -> Vec<Leaf> {
    places.iter().filter_map(|place| at(interfaces, *place)).collect()
}

/// The most values that this number of interfaces can have.
pub(crate) fn count(interfaces: usize) -> usize {
    interfaces * SCHEMA.len()
}

/// The places of the leaves that a path means, in order. An interface may have some of them at other times alone: its
/// speed is not known while it is down.
pub(crate) fn places(interfaces: &[Interface], wanted: &[PathElem]) -> Vec<usize> {
    let named: BTreeSet<&str> = wanted
        .iter()
        .flat_map(|step| step.key.values())
        .map(String::as_str)
        .collect();
    // To all interfaces that the path does not name it means the same leaves.
    let of_others = rows(wanted, &|key| key == "*");
    let mut places = Vec::new();
    for (number, interface) in interfaces.iter().enumerate() {
        let name = interface.info.name.as_str();
        let is_named = named.contains(name);
        let own = is_named.then(|| rows(wanted, &|key| key == "*" || key == name));
        let rows = own.as_ref().unwrap_or(&of_others);
        places.extend(rows.iter().map(|row| number * SCHEMA.len() + row));
    }
    places
}

/// The places in the schema of the leaves that a path means of an interface; `is_own` says which keys are the
/// interface's.
fn rows(wanted: &[PathElem], is_own: &dyn Fn(&str) -> bool) -> Vec<usize> {
    let is_meant = |(_, schema): &(usize, &Schema)| is_begin(wanted, is_own, schema.names);
    SCHEMA.iter().enumerate().filter(is_meant).map(|(row, _)| row).collect()
}

/// Whether a path means the leaf with these names of an interface: names and keys are the same as far as the path goes.
/// `*` stands for any name or key, `...` for any number of steps.
pub(crate) fn is_meant(wanted: &[PathElem], interface: &str, names: &[&str]) -> bool {
    is_begin(wanted, &|key| key == "*" || key == interface, names)
}

/// The path of the leaf at a place, which its interface may not have at present.
pub(crate) fn path_of(interfaces: &[Interface], place: usize) -> Option<Path> {
    let interface = interfaces.get(place / SCHEMA.len())?;
    Some(full_path(&interface.info.name, SCHEMA[place % SCHEMA.len()].names))
}

impl Leaf {
    /// Whether it is a counter, which changes with every packet.
    pub(crate) fn is_counter(&self) -> bool {
        self.kind == Kind::Counter
    }

    /// Whether a request for values of this type includes it (§3.3.1).
    pub(crate) fn is_of_type(&self, wanted: DataType) -> bool {
        match wanted {
            DataType::All => true,
            DataType::Config => self.kind == Kind::Config,
            DataType::State => matches!(self.kind, Kind::Applied | Kind::Operational | Kind::Counter),
            DataType::Operational => matches!(self.kind, Kind::Operational | Kind::Counter),
        }
    }

    /// Its full path.
    pub(crate) fn path(&self) -> Path {
        full_path(&self.interface, self.names)
    }

    /// Its value in the encoding that the client requested.
    pub(crate) fn typed_value(&self, encoding: Encoding) -> TypedValue {
        let json = |is_ietf: bool| match &self.value {
            Scalar::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Scalar::Short(number) => number.to_string(),
            // RFC 7951 §6.1: numbers of 64 bits are strings, shorter ones are not.
            Scalar::Long(number) if is_ietf => format!("\"{number}\""),
            Scalar::Long(number) => number.to_string(),
            Scalar::Flag(flag) => flag.to_string(),
        };
        let value = match (encoding, &self.value) {
            (Encoding::Json, _) => Value::JsonVal(json(false).into_bytes()),
            (Encoding::JsonIetf, _) => Value::JsonIetfVal(json(true).into_bytes()),
            (Encoding::Ascii, Scalar::Text(text)) => Value::AsciiVal(text.clone()),
            (Encoding::Ascii, _) => Value::AsciiVal(json(false)),
            (_, Scalar::Text(text)) => Value::StringVal(text.clone()),
            (_, Scalar::Short(number)) => Value::UintVal(u64::from(*number)),
            (_, Scalar::Long(number)) => Value::UintVal(*number),
            (_, Scalar::Flag(flag)) => Value::BoolVal(*flag),
        };
        TypedValue { value: Some(value) }
    }
}

fn full_path(interface: &str, names: &[&str]) -> Path {
    let mut elem = vec![element("interfaces"), element("interface")];
    elem[1].key = BTreeMap::from([("name".to_string(), interface.to_string())]);
    elem.extend(names.iter().map(|name| element(name)));
    Path {
        elem,
        ..Path::default()
    }
}

fn element(name: &str) -> PathElem {
    PathElem {
        name: name.to_string(),
        key: BTreeMap::new(),
    }
}

/// The origin whose paths are served ("Mixing Schemas in gNMI"), besides none.
const ORIGIN: &str = "openconfig";

/// The steps of a path after those of its prefix, without the names of YANG modules.
///
/// # Errors
/// `INVALID_ARGUMENT` when it is not a path of this model's form; `UNIMPLEMENTED` when it is one of another schema.
pub(crate) fn steps(prefix: Option<&Path>, path: Option<&Path>) -> Result<Vec<PathElem>, Status> {
    check_origin(prefix, path)?;
    let mut steps = Vec::new();
    for part in prefix.into_iter().chain(path) {
        #[expect(deprecated, reason = "clients of before 2018 send nothing else")]
        let is_of_old_form = !part.element.is_empty() && part.elem.is_empty();
        if is_of_old_form {
            return Err(Status::invalid_argument("`element` of a path is not read: use `elem`"));
        }
        for elem in &part.elem {
            let name = elem.name.rsplit(':').next().unwrap_or_default().to_string();
            check_step(&name, elem)?;
            // Several in a row mean what one does, and each would be tried at every place.
            if name == "..." && steps.last().is_some_and(|last: &PathElem| last.name == "...") {
                continue;
            }
            let key = elem.key.iter().map(|(key, value)| (key.clone(), any_key(value)));
            let key = key.collect();
            steps.push(PathElem { name, key });
        }
    }
    Ok(steps)
}

/// The value of a key, with `*` for any. Stratum and ONOS write `...` for that.
fn any_key(value: &str) -> String {
    let value = if value == "..." { "*" } else { value };
    value.to_string()
}

fn check_origin(prefix: Option<&Path>, path: Option<&Path>) -> Result<(), Status> {
    let mut origins = prefix.into_iter().chain(path).map(|path| path.origin.as_str());
    let origin = origins.find(|origin| !origin.is_empty()).unwrap_or_default();
    // A client should say it once; aiognmi says the same in the prefix and in each path.
    if let Some(other) = origins.find(|other| !other.is_empty() && *other != origin) {
        return Err(Status::invalid_argument(format!(
            "the prefix has the origin `{origin}`, and the path `{other}`: one of them says it for both"
        )));
    }
    match origin {
        "" | ORIGIN => Ok(()),
        // Clients that write the name of a module in front of a path (pygnmi) send it as the origin.
        other if Model::ALL.iter().any(|model| model.name() == other) => Ok(()),
        other => Err(Status::unimplemented(format!(
            "there are no paths of origin `{other}`; `{ORIGIN}` is served"
        ))),
    }
}

fn check_step(name: &str, elem: &PathElem) -> Result<(), Status> {
    if name.is_empty() {
        return Err(Status::invalid_argument("a step of a path has no name"));
    }
    match elem
        .key
        .keys()
        .find(|key| *key != "name" || !["interface", "*"].contains(&name))
    {
        None => Ok(()),
        Some(key) => Err(Status::invalid_argument(format!(
            "`{name}` has no key `{key}`; `interface` has the key `name`"
        ))),
    }
}

/// The longest path in a message, in bytes: errors travel in headers, which clients limit.
const WRITTEN_MAX: usize = 1024;

/// A path for a message.
pub(crate) fn written(steps: &[PathElem]) -> String {
    let mut text = String::new();
    for step in steps {
        text.extend(["/", &step.name]);
        for (name, value) in &step.key {
            text.extend(["[", name, "=", value, "]"]);
        }
        if text.len() > WRITTEN_MAX {
            text.truncate(text.floor_char_boundary(WRITTEN_MAX));
            return text + "…";
        }
    }
    if text.is_empty() { "/".to_string() } else { text }
}

/// Whether a path means a leaf that an interface may have.
pub(crate) fn is_in_schema(wanted: &[PathElem]) -> bool {
    SCHEMA.iter().any(|schema| may_mean(wanted, schema.names))
}

/// The roots of OpenConfig's models.
const ROOTS: &[&str] = &[
    "access-points",
    "acl",
    "components",
    "defined-sets",
    "dot1x",
    "interfaces",
    "keychains",
    "lacp",
    "lldp",
    "macsec",
    "messages",
    "network-instances",
    "optical-amplifier",
    "p4rt",
    "platform",
    "probes",
    "qos",
    "relay-agent",
    "routing-policy",
    "sampling",
    "stp",
    "system",
    "telemetry-system",
    "terminal-device",
];

/// Whether a path begins as one of a model of OpenConfig, served here or not.
pub(crate) fn is_of_a_model(wanted: &[PathElem]) -> bool {
    let root = wanted.first().map_or("*", |first| first.name.as_str());
    ["*", "..."].contains(&root) || ROOTS.contains(&root)
}

/// Whether a path means the leaf with these names of some interface.
pub(crate) fn may_mean(wanted: &[PathElem], names: &[&str]) -> bool {
    is_begin(wanted, &|_| true, names)
}

/// The steps before the names of a leaf; the second one has the name of the interface as its key.
const LIST: [&str; 2] = ["interfaces", "interface"];

/// Whether a path is the beginning of that of a leaf with these names; `is_own` says which keys are its interface's.
/// After `...` a path may go on at several steps of the leaf's: all of them are followed at once.
fn is_begin(wanted: &[PathElem], is_own: &dyn Fn(&str) -> bool, names: &[&str]) -> bool {
    let steps = LIST.len() + names.len();
    // Bit n: the path may go on at step n.
    let mut open = 1_u32;
    for step in wanted {
        let next = if step.name == "..." {
            // At the first of these steps and all after it, the end too.
            (2_u32 << steps) - (1_u32 << open.trailing_zeros())
        } else {
            let all = LIST.iter().chain(names).enumerate();
            let goes_on = all.filter(|(at, name)| open & (1_u32 << *at) != 0 && is_step(step, *at, name, is_own));
            goes_on.fold(0_u32, |next, (at, _)| next | (2_u32 << at))
        };
        if next == 0 {
            return false;
        }
        open = next;
    }
    true
}

/// Whether a step of a path may be step `at` of a leaf's, which has this name.
fn is_step(step: &PathElem, at: usize, name: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
    let is_key = |(key, value): (&String, &String)| at == 1 && key == "name" && is_own(value);
    (step.name == "*" || step.name == name) && step.key.iter().all(is_key)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::interfaces::{Interfaces, PortInfo, PortStatus};
    use super::*;
    use forebay_packet::{PortCounters, PortState};
    use tonic::Code;

    /// A path as people write it: `interfaces/interface[name=eth1]/state`.
    pub(crate) fn path(text: &str) -> Path {
        let elem = text
            .split('/')
            .map(|step| match step.trim_end_matches(']').split_once("[name=") {
                None => element(step),
                Some((name, key)) => PathElem {
                    name: name.to_string(),
                    key: BTreeMap::from([("name".to_string(), key.to_string())]),
                },
            });
        Path {
            elem: elem.collect(),
            ..Path::default()
        }
    }

    /// A value with these names.
    pub(crate) fn leaf(names: &[&str], value: Scalar) -> Leaf {
        let mut schemas = SCHEMA.iter().enumerate();
        let (place, schema) = schemas
            .find(|(_, schema)| schema.names == names)
            .expect("a leaf of the schema");
        Leaf {
            place,
            interface: "eth1".to_string(),
            names: schema.names,
            model: schema.model,
            kind: schema.kind,
            value,
        }
    }

    fn octets() -> Leaf {
        leaf(&["state", "counters", "in-octets"], Scalar::Long(7))
    }

    fn steps_of(text: &str) -> Vec<PathElem> {
        steps(None, Some(&path(text))).expect("a path of the right form")
    }

    #[test]
    fn packets_are_for_one_station_for_several_or_for_all() {
        let ports = Interfaces::new(vec![PortInfo::default()], 0);
        let groups = GroupCounters {
            multicast: 2,
            broadcast: 1,
        };
        let mut counters = PortCounters::default();
        counters.received_packets = 7;
        counters.received_groups = groups;
        // Less than were for groups: a burst of which the port has refused some.
        counters.sent_packets = 2;
        counters.sent_groups = groups;
        let state = PortState::Up;
        ports.update(0, PortStatus { state, counters }, 0);
        let leaves = all(&ports.all());
        let value = |name: &str| {
            let is_it = |leaf: &&Leaf| leaf.names == ["state", "counters", name];
            leaves.iter().find(is_it).map(|leaf| leaf.value.clone())
        };
        for (name, count) in [
            ("in-unicast-pkts", 4),
            ("in-broadcast-pkts", 1),
            ("in-multicast-pkts", 2),
            ("out-unicast-pkts", 0),
            ("out-broadcast-pkts", 1),
            ("out-multicast-pkts", 2),
        ] {
            assert_eq!(value(name), Some(Scalar::Long(count)), "{name}");
        }
    }

    #[test]
    fn paths_with_wildcards() {
        let means = |text: &str| is_meant(&steps_of(text), "eth1", octets().names);
        for text in [
            "interfaces",
            "interfaces/interface",
            "openconfig-interfaces:interfaces/interface[name=eth1]/state",
            "interfaces/interface[name=*]/state/counters/in-octets",
            "interfaces/interface[name=...]/state",
            "interfaces/*/state",
            ".../in-octets",
            "interfaces/.../counters",
            ".../*/.../*/.../in-octets",
            "interfaces/.../interface[name=eth1]/.../counters/...",
        ] {
            assert!(means(text), "{text}");
        }
        for text in [
            "interfaces/interface[name=eth2]",
            "interfaces/interface/config",
            ".../mtu",
            ".../*/.../*/.../*/.../in-octets/*",
            ".../interfaces/.../interfaces",
        ] {
            assert!(!means(text), "{text}");
        }
    }

    #[test]
    fn any_number_of_steps_is_said_once() {
        let many = format!("interfaces/{}/in-octets", vec!["..."; 100_000].join("/"));
        assert_eq!(steps_of(&many), steps_of("interfaces/.../in-octets"));
        assert!(is_meant(&steps_of(&many), "eth1", octets().names));
        assert!(!is_in_schema(&steps_of(&(many + "/x"))));
    }

    #[test]
    fn places_are_those_of_the_leaves_that_a_path_means() {
        let info = |number: u32| PortInfo {
            number,
            name: format!("eth{number}"),
            ..PortInfo::default()
        };
        let interfaces = Interfaces::new((1..=3).map(info).collect(), 0).all();
        for text in [
            "interfaces",
            "interfaces/interface[name=eth2]/state",
            "*/interface[name=*]/config",
            ".../interface[name=eth3]/.../counters",
            "interfaces/*[name=eth1]",
            "interfaces/interface[name=away]",
        ] {
            let wanted = steps_of(text);
            let is_wanted = |leaf: &Leaf| is_meant(&wanted, &leaf.interface, leaf.names);
            let expected: Vec<Leaf> = all(&interfaces).into_iter().filter(is_wanted).collect();
            assert_eq!(
                at_places(&interfaces, &places(&interfaces, &wanted)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn paths_of_the_schema() {
        for text in [
            "interfaces",
            "*",
            "interfaces/interface[name=away]/state/mtu",
            ".../counters",
            "interfaces/*/config",
        ] {
            assert!(is_in_schema(&steps_of(text)), "{text}");
        }
        for text in [
            "system",
            "interfaces/interface/state/counters/in-octet",
            "interfaces/interface/state/mtu/x",
        ] {
            assert!(!is_in_schema(&steps_of(text)), "{text}");
            assert!(is_of_a_model(&steps_of(text)), "{text}");
        }
        assert!(!is_of_a_model(&steps_of("onos-gnmi-ping")));
    }

    #[test]
    fn paths_of_other_forms_are_refused() {
        let with = |origin: &str| Path {
            origin: origin.to_string(),
            ..path("interfaces")
        };
        let code = |prefix: Option<&Path>, path: &Path| steps(prefix, Some(path)).map_err(|status| status.code());
        assert!(code(Some(&with("")), &with("openconfig")).is_ok());
        assert!(code(None, &with("openconfig-interfaces")).is_ok());
        assert_eq!(code(None, &with("cli")), Err(Code::Unimplemented));
        assert!(code(Some(&with("openconfig")), &with("openconfig")).is_ok());
        assert_eq!(
            code(Some(&with("openconfig")), &with("openconfig-interfaces")),
            Err(Code::InvalidArgument)
        );
        assert_eq!(code(None, &path("interfaces//state")), Err(Code::InvalidArgument));
        assert_eq!(code(None, &path("interfaces[name=eth1]")), Err(Code::InvalidArgument));
        #[expect(deprecated, reason = "what old clients send")]
        let old = Path {
            element: vec!["interfaces".to_string()],
            ..Path::default()
        };
        assert_eq!(code(None, &old), Err(Code::InvalidArgument));
    }

    #[test]
    fn encodings() {
        let value = |leaf: Leaf, encoding| leaf.typed_value(encoding).value.unwrap();
        assert_eq!(value(octets(), Encoding::Proto), Value::UintVal(7));
        assert_eq!(value(octets(), Encoding::Json), Value::JsonVal(b"7".to_vec()));
        assert_eq!(
            value(octets(), Encoding::JsonIetf),
            Value::JsonIetfVal(b"\"7\"".to_vec())
        );
        let mtu = leaf(&["state", "mtu"], Scalar::Short(1500));
        assert_eq!(value(mtu, Encoding::JsonIetf), Value::JsonIetfVal(b"1500".to_vec()));
    }
}
