//! The file of settings: TOML. `functions/upf/n4.toml` is an example.

use crate::entry::{Action, Entries, Key, Match, Table};
use crate::error::AgentError;
use forebay_pfcp::Pools;
use forebay_pfcp::rules::Network;
use forebay_pfcp::wire::{Addresses, NodeId};
use forebay_traffic::frame::parse_mac;
use serde::Deserialize;
use std::net::IpAddr;

/// The settings of a UPF.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub(crate) n4: N4,
    #[serde(default)]
    pub(crate) pools: PoolSettings,
    #[serde(default)]
    own: Vec<Own>,
    #[serde(default)]
    next_hop: Vec<NextHop>,
    #[serde(default)]
    route: Vec<Route>,
}

/// N4: PFCP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct N4 {
    /// The address of this side.
    pub address: IpAddr,
    /// The name of the node, as a domain name; its address if there is none.
    node: Option<String>,
    /// Networks of SMFs; all addresses if there is none.
    #[serde(default)]
    peers: Vec<String>,
    /// T1.
    #[serde(default = "default_retry")]
    pub retry_ms: u64,
    /// N1.
    #[serde(default = "default_attempts")]
    pub attempts: u32,
    #[serde(default = "default_heartbeat")]
    pub heartbeat_s: u64,
    /// How often usage is looked at.
    #[serde(default = "default_usage")]
    pub usage_ms: u64,
    /// The interval between echo requests to GTP-U peers, in seconds; 0 for never.
    #[serde(default = "default_echo")]
    pub echo_s: u64,
}

fn default_retry() -> u64 {
    3000
}

fn default_attempts() -> u32 {
    3
}

fn default_heartbeat() -> u64 {
    20
}

fn default_usage() -> u64 {
    1000
}

/// At most once a minute (TS 29.281 §7.2.1).
fn default_echo() -> u64 {
    60
}

/// Addresses of UEs that the UPF chooses.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolSettings {
    v4: Option<String>,
    v6: Option<String>,
}

/// An address of the UPF.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    address: IpAddr,
    mac: String,
    /// Whether tunnels end there.
    #[serde(default = "yes")]
    gtpu: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NextHop {
    number: u32,
    port: u16,
    mac: String,
    peer_mac: String,
    /// The largest IP packet, in bytes.
    #[serde(default = "default_mtu")]
    mtu: u16,
}

fn default_mtu() -> u16 {
    1500
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    prefix: String,
    next_hop: u32,
}

impl Settings {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is no TOML, or what it says cannot be meant; with the key.
    pub fn read(text: &str) -> Result<Settings, AgentError> {
        let settings: Settings = toml::from_str(text).map_err(|error| AgentError::Settings(error.to_string()))?;
        settings.entries()?;
        settings.peers()?;
        settings.pools()?;
        if settings.n4.retry_ms == 0
            || settings.n4.attempts == 0
            || settings.n4.heartbeat_s == 0
            || settings.n4.usage_ms == 0
        {
            return Err(wrong(
                "n4",
                "retry_ms, attempts, heartbeat_s and usage_ms are at least 1",
            ));
        }
        if settings.tunnels_at().any().is_none() {
            return Err(wrong("own", "tunnels end at no address: one must have `gtpu = true`"));
        }
        Ok(settings)
    }

    /// The name of the node.
    pub(crate) fn node(&self) -> NodeId {
        let Some(name) = &self.n4.node else {
            return NodeId::Address(self.n4.address);
        };
        let label = |label: &str| [&[label.len().min(63) as u8], &label.as_bytes()[..label.len().min(63)]].concat();
        NodeId::Name(name.split('.').flat_map(label).take(255).collect())
    }

    /// Networks of SMFs.
    pub(crate) fn peers(&self) -> Result<Vec<Network>, AgentError> {
        let network = |text: &String| Network::parse(text).ok_or_else(|| no_prefix("n4.peers", text));
        self.n4.peers.iter().map(network).collect()
    }

    /// Where tunnels end: the first address of each family.
    pub(crate) fn tunnels_at(&self) -> Addresses {
        let mut found = Addresses::default();
        for own in self.own.iter().filter(|own| own.gtpu) {
            match own.address {
                IpAddr::V4(address) => found.v4 = found.v4.or(Some(address)),
                IpAddr::V6(address) => found.v6 = found.v6.or(Some(address)),
            }
        }
        found
    }

    /// Addresses of UEs that the UPF chooses. The first and the last of an IPv4 pool are left out.
    pub(crate) fn pools(&self) -> Result<Pools, AgentError> {
        let mut pools = Pools::default();
        if let Some(text) = &self.pools.v4 {
            let network = Network::parse(text).ok_or_else(|| no_prefix("pools.v4", text))?;
            let (IpAddr::V4(address), 1..=30) = (network.address, network.length) else {
                return Err(wrong("pools.v4", "an IPv4 prefix of 1 to 30 bits is wanted"));
            };
            let mask = u32::MAX << (32 - network.length);
            let count = (!mask).saturating_sub(1);
            pools.v4 = Some(((u32::from(address) & mask).saturating_add(1).into(), count));
        }
        if let Some(text) = &self.pools.v6 {
            let network = Network::parse(text).ok_or_else(|| no_prefix("pools.v6", text))?;
            let (IpAddr::V6(address), 33..=63) = (network.address, network.length) else {
                return Err(wrong(
                    "pools.v6",
                    "an IPv6 prefix of 33 to 63 bits is wanted, from which UEs get 64",
                ));
            };
            let mask = u128::MAX << (128 - network.length);
            pools.v6 = Some(((u128::from(address) & mask).into(), 1 << (64 - network.length)));
        }
        Ok(pools)
    }

    /// The entries that do not belong to a session.
    pub(crate) fn entries(&self) -> Result<Entries, AgentError> {
        let mut entries = Entries::default();
        for own in &self.own {
            let action = Action::new("own", [mac("own.mac", &own.mac)?]);
            match own.address {
                IpAddr::V4(address) => {
                    let key = [Match::exact(u32::from(address))];
                    if own.gtpu {
                        entries.insert(Key::new(Table::OwnIpv4, key), action.clone());
                    }
                    entries.insert(Key::new(Table::ArpIpv4, key), action);
                }
                IpAddr::V6(address) => {
                    let key = [Match::exact(u128::from(address))];
                    if own.gtpu {
                        entries.insert(Key::new(Table::OwnIpv6, key), action.clone());
                    }
                    entries.insert(Key::new(Table::NdIpv6, key), action);
                }
            }
        }
        for (index, hop) in self.next_hop.iter().enumerate() {
            self.check_next_hop(index, hop)?;
            let values = [
                u128::from(hop.port),
                mac("next_hop.mac", &hop.mac)?,
                mac("next_hop.peer_mac", &hop.peer_mac)?,
                u128::from(hop.mtu),
            ];
            entries.insert(
                Key::new(Table::NextHops, [Match::exact(hop.number)]),
                Action::new("to_port", values),
            );
        }
        for route in &self.route {
            if !self.next_hop.iter().any(|hop| hop.number == route.next_hop) {
                let why = format!(
                    "the route to {} names next hop {}, which does not exist",
                    route.prefix, route.next_hop
                );
                return Err(wrong("route", &why));
            }
            let network = Network::parse(&route.prefix).ok_or_else(|| no_prefix("route.prefix", &route.prefix))?;
            let (table, value, width) = match network.address {
                IpAddr::V4(address) => (Table::RoutesIpv4, u128::from(u32::from(address)), 32),
                IpAddr::V6(address) => (Table::RoutesIpv6, u128::from(address), 128),
            };
            let key = Key::new(table, [Match::prefix(value, network.length, width)]);
            entries.insert(key, Action::new("to_next_hop", [u128::from(route.next_hop)]));
        }
        Ok(entries)
    }

    fn check_next_hop(&self, index: usize, hop: &NextHop) -> Result<(), AgentError> {
        let number = hop.number;
        if self.next_hop[..index].iter().any(|other| other.number == number) {
            return Err(wrong("next_hop", &format!("there are two with the number {number}")));
        }
        if hop.port > PORT_MAX {
            let why = format!("that of next hop {number} is {}; a port is 0 to {PORT_MAX}", hop.port);
            return Err(wrong("next_hop.port", &why));
        }
        if hop.mtu < MTU_MIN {
            let why = format!(
                "that of next hop {number} is {}; IPv4 needs at least {MTU_MIN}",
                hop.mtu
            );
            return Err(wrong("next_hop.mtu", &why));
        }
        Ok(())
    }
}

/// The last port that a program for v1model can name.
const PORT_MAX: u16 = 510;

/// What every link of IPv4 must carry (RFC 791).
const MTU_MIN: u16 = 68;

fn mac(key: &str, text: &str) -> Result<u128, AgentError> {
    let bytes = parse_mac(text);
    let bytes = bytes.ok_or_else(|| wrong(key, &format!("`{text}` is no MAC address like 02:00:00:00:00:01")))?;
    Ok(bytes.iter().fold(0, |mac, byte| mac << 8 | u128::from(*byte)))
}

fn wrong(key: &str, why: &str) -> AgentError {
    AgentError::Settings(format!("{key}: {why}"))
}

fn no_prefix(key: &str, text: &str) -> AgentError {
    wrong(key, &format!("`{text}` is no prefix like 192.0.2.0/24"))
}
