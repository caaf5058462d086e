//! The values of interfaces with their paths, and which of them a client's path means.

use super::interfaces::Interface;
use forebay_protocol::gnmi::typed_value::Value;
use forebay_protocol::gnmi::{Encoding, Path, PathElem, TypedValue};
use std::collections::BTreeMap;

/// A value of an interface.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Text(String),
    Number(u64),
    Flag(bool),
}

/// A value with its place: `/interfaces/interface[name=…]/` and these names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) interface: String,
    pub(crate) names: &'static [&'static str],
    pub(crate) value: Scalar,
}

/// Every value of an interface.
fn of_interface(interface: &Interface) -> Vec<Leaf> {
    let (info, counters) = (&interface.info, &interface.status.counters);
    let text = |text: &str| Scalar::Text(text.to_string());
    let admin_status = if interface.is_enabled { "UP" } else { "DOWN" };
    let number = u64::from(info.number);
    let mut values: Vec<(&'static [&'static str], Scalar)> = vec![
        (&["name"], text(&info.name)),
        (&["config", "name"], text(&info.name)),
        (&["config", "enabled"], Scalar::Flag(interface.is_enabled)),
        (&["state", "name"], text(&info.name)),
        (&["state", "ifindex"], Scalar::Number(number)),
        (&["state", "id"], Scalar::Number(number)),
        (&["state", "enabled"], Scalar::Flag(interface.is_enabled)),
        (&["state", "admin-status"], text(admin_status)),
        (&["state", "oper-status"], text(interface.oper_status())),
        (
            &["state", "last-change"],
            Scalar::Number(interface.last_change_ns as u64),
        ),
        (
            &["state", "counters", "in-octets"],
            Scalar::Number(counters.received_bytes),
        ),
        (
            &["state", "counters", "in-pkts"],
            Scalar::Number(counters.received_packets),
        ),
        (
            &["state", "counters", "in-discards"],
            Scalar::Number(interface.in_discards()),
        ),
        (
            &["state", "counters", "out-octets"],
            Scalar::Number(counters.sent_bytes),
        ),
        (
            &["state", "counters", "out-pkts"],
            Scalar::Number(counters.sent_packets),
        ),
        (
            &["state", "counters", "out-discards"],
            Scalar::Number(interface.out_discards()),
        ),
    ];
    if let Some(mtu) = info.mtu {
        values.push((&["state", "mtu"], Scalar::Number(u64::from(mtu))));
    }
    if let Some(address) = info.mac_address {
        let octets: Vec<String> = address.iter().map(|octet| format!("{octet:02x}")).collect();
        values.push((&["ethernet", "state", "mac-address"], Scalar::Text(octets.join(":"))));
    }
    if let Some(speed) = info.speed_mbps {
        values.push((&["ethernet", "state", "port-speed"], text(port_speed(speed))));
    }
    let leaf = |(names, value)| Leaf {
        interface: info.name.clone(),
        names,
        value,
    };
    values.into_iter().map(leaf).collect()
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

/// Every value of all interfaces.
pub(crate) fn all(interfaces: &[Interface]) -> Vec<Leaf> {
    interfaces.iter().flat_map(of_interface).collect()
}

impl Leaf {
    /// Whether it is a counter, which changes with every packet.
    pub(crate) fn is_counter(&self) -> bool {
        self.names.contains(&"counters")
    }

    /// Its full path.
    pub(crate) fn path(&self) -> Path {
        let mut elem = vec![element("interfaces"), element("interface")];
        elem[1].key = BTreeMap::from([("name".to_string(), self.interface.clone())]);
        elem.extend(self.names.iter().map(|name| element(name)));
        Path {
            elem,
            ..Path::default()
        }
    }

    /// Whether a path means it: names and keys are the same as far as the path goes. `*` stands for any name or key, `...`
    /// for any number of steps.
    pub(crate) fn is_meant_by(&self, wanted: &[PathElem]) -> bool {
        is_begin(wanted, &self.path().elem)
    }

    /// Its value as a client wants it.
    pub(crate) fn typed_value(&self, encoding: Encoding) -> TypedValue {
        let json = |is_ietf: bool| match &self.value {
            Scalar::Text(text) => format!("\"{text}\""),
            // RFC 7951: numbers of 64 bits are strings.
            Scalar::Number(number) if is_ietf => format!("\"{number}\""),
            Scalar::Number(number) => number.to_string(),
            Scalar::Flag(flag) => flag.to_string(),
        };
        let value = match (encoding, &self.value) {
            (Encoding::Json, _) => Value::JsonVal(json(false).into_bytes()),
            (Encoding::JsonIetf, _) => Value::JsonIetfVal(json(true).into_bytes()),
            (Encoding::Ascii, Scalar::Text(text)) => Value::AsciiVal(text.clone()),
            (Encoding::Ascii, _) => Value::AsciiVal(json(false)),
            (_, Scalar::Text(text)) => Value::StringVal(text.clone()),
            (_, Scalar::Number(number)) => Value::UintVal(*number),
            (_, Scalar::Flag(flag)) => Value::BoolVal(*flag),
        };
        TypedValue { value: Some(value) }
    }
}

fn element(name: &str) -> PathElem {
    PathElem {
        name: name.to_string(),
        key: BTreeMap::new(),
    }
}

/// The steps of a path behind those of its prefix, without the names of YANG modules.
pub(crate) fn steps(prefix: Option<&Path>, path: Option<&Path>) -> Vec<PathElem> {
    let both = prefix.into_iter().chain(path).flat_map(|path| &path.elem);
    both.map(|elem| PathElem {
        name: elem.name.rsplit(':').next().unwrap_or_default().to_string(),
        key: elem.key.clone(),
    })
    .collect()
}

fn is_begin(wanted: &[PathElem], path: &[PathElem]) -> bool {
    match (wanted.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((first, rest)), _) if first.name == "..." => {
            (0..=path.len()).any(|skipped| is_begin(rest, &path[skipped..]))
        }
        (Some((first, rest)), Some((step, path))) => is_step(first, step) && is_begin(rest, path),
        (Some(_), None) => false,
    }
}

fn is_step(wanted: &PathElem, step: &PathElem) -> bool {
    let is_key = |(name, value): (&String, &String)| step.key.get(name).is_some_and(|own| value == "*" || value == own);
    (wanted.name == "*" || wanted.name == step.name) && wanted.key.iter().all(is_key)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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

    fn leaf() -> Leaf {
        Leaf {
            interface: "eth1".to_string(),
            names: &["state", "counters", "in-octets"],
            value: Scalar::Number(7),
        }
    }

    #[test]
    fn paths_with_wildcards() {
        let means = |text: &str| leaf().is_meant_by(&steps(None, Some(&path(text))));
        for text in [
            "interfaces",
            "interfaces/interface",
            "openconfig-interfaces:interfaces/interface[name=eth1]/state",
            "interfaces/interface[name=*]/state/counters/in-octets",
            "interfaces/*/state",
            ".../in-octets",
            "interfaces/.../counters",
        ] {
            assert!(means(text), "{text}");
        }
        for text in [
            "interfaces/interface[name=eth2]",
            "interfaces/interface/config",
            ".../mtu",
        ] {
            assert!(!means(text), "{text}");
        }
    }

    #[test]
    fn encodings() {
        let value = |encoding| leaf().typed_value(encoding).value.unwrap();
        assert_eq!(value(Encoding::Proto), Value::UintVal(7));
        assert_eq!(value(Encoding::Json), Value::JsonVal(b"7".to_vec()));
        assert_eq!(value(Encoding::JsonIetf), Value::JsonIetfVal(b"\"7\"".to_vec()));
    }
}
