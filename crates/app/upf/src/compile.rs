//! A session as table entries.
//!
//! PDRs of an endpoint are looked at in the order of their precedence. One without filters finds every packet: it is
//! application 0, and those after it find none. The others are applications by their identifiers.
//!
//! What comes from another UPF by N9, or from the SMF, is uplink for the program, since it comes in a tunnel, and
//! downlink for the SMF. QERs and URRs of such PDRs have a second number, in the upper half of the arrays, with the
//! directions exchanged.

use crate::entry::{Action, Entries, Key, Match, Table};
use crate::rule_sets::{RuleSet, RuleSets};
use forebay_pfcp::rules::{Far, Interface, Pdr, Qer};
use forebay_pfcp::wire::{Addresses, OuterHeader, Rates, Refusal, RuleId};
use forebay_pfcp::{Endpoint, Session};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// What the second number of a QER or URR has more than the first: half of the arrays of `functions/upf`.
pub(crate) const TWIN: u32 = 65_536;

/// The port of GTP-U.
const GTPU_PORT: u128 = 2152;

/// The filters of the endpoints of a session, which it shares with others.
pub(crate) fn rule_sets(session: &Session) -> Result<Vec<RuleSet>, Refusal> {
    session
        .endpoints
        .keys()
        .map(|endpoint| rule_set(session, *endpoint))
        .collect()
}

fn rule_set(session: &Session, endpoint: Endpoint) -> Result<RuleSet, Refusal> {
    let mut set = RuleSet::default();
    for pdr in session.pdrs_of(endpoint).into_iter().take_while(|pdr| !finds_all(pdr)) {
        set.add(pdr)?;
    }
    Ok(set)
}

/// Whether a PDR finds every packet of its endpoint. Packets without a tunnel have no QFI.
fn finds_all(pdr: &Pdr) -> bool {
    pdr.pdi.filters.is_empty() && pdr.pdi.qfis.is_empty()
}

/// The application of a PDR. One with filters and the identifier 0 has the last number.
pub(crate) fn application_of(pdr: &Pdr) -> u16 {
    match (finds_all(pdr), pdr.id) {
        (true, _) => 0,
        (false, 0) => u16::MAX,
        (false, id) => id,
    }
}

/// The PDR of an application at an endpoint.
pub(crate) fn pdr_of(session: &Session, endpoint: Endpoint, application: u16) -> Option<&Pdr> {
    let mut pdrs = session.pdrs_of(endpoint).into_iter();
    pdrs.find(|pdr| application_of(pdr) == application)
}

/// Whether packets of a PDR come in a tunnel for the UE, by N9 or from the SMF: they use second numbers.
pub(crate) fn is_from_core(pdr: &Pdr) -> bool {
    pdr.pdi.tunnel.is_some() && pdr.pdi.source != Interface::Access
}

/// The tunnels into which packets of an endpoint go on, each once.
pub(crate) fn tunnels_behind(session: &Session, endpoint: Endpoint) -> Vec<OuterHeader> {
    let mut tunnels: Vec<OuterHeader> = Vec::new();
    for pdr in session.pdrs_of(endpoint) {
        let far = session.far_of(pdr).filter(|far| far.forwards() && !far.buffers());
        if let Some(tunnel) = far.and_then(|far| far.tunnel)
            && !tunnels.contains(&tunnel)
        {
            tunnels.push(tunnel);
        }
    }
    tunnels
}

/// Compiles sessions.
pub(crate) struct Compiler<'a> {
    /// Where tunnels of this UPF begin.
    pub(crate) tunnels_at: Addresses,
    pub(crate) rule_sets: &'a RuleSets,
}

impl Compiler<'_> {
    /// All entries of a session but those of its rule sets.
    ///
    /// # Errors
    /// When the program cannot do what a rule says.
    pub(crate) fn entries(&self, session: &Session) -> Result<Entries, Refusal> {
        let mut entries = Entries::default();
        for far in session.fars.values() {
            entries.insert(Key::new(Table::Fars, [Match::exact(far.number)]), self.far(far)?);
        }
        for (endpoint, number) in &session.endpoints {
            self.add_endpoint(&mut entries, session, *endpoint, *number)?;
        }
        Ok(entries)
    }

    fn far(&self, far: &Far) -> Result<Action, Refusal> {
        if far.buffers() {
            return Ok(Action::new("buffer", []));
        }
        if !far.forwards() {
            return Ok(Action::new("drop_packet", []));
        }
        match far.tunnel {
            // No way leads to the radio network without a tunnel, and the router would send the packets back.
            None if far.destination == Some(Interface::Access) => Ok(Action::new("drop_packet", [])),
            None => Ok(Action::new("to_core", [])),
            Some(tunnel) => self.to_tunnel(far, &tunnel),
        }
    }

    fn to_tunnel(&self, far: &Far, tunnel: &OuterHeader) -> Result<Action, Refusal> {
        let ends = match tunnel.peer {
            IpAddr::V4(peer) => {
                let own = self.tunnels_at.v4.map(|own| u128::from(u32::from(own)));
                own.map(|own| ("to_tunnel_ipv4", own, u128::from(u32::from(peer))))
            }
            IpAddr::V6(peer) => self
                .tunnels_at
                .v6
                .map(|own| ("to_tunnel_ipv6", own.into(), peer.into())),
        };
        let (action, own, peer) = ends.ok_or_else(|| {
            let why = format!(
                "no tunnel of this UPF begins at an address of the family of {}",
                tunnel.peer
            );
            Refusal::of_rule(RuleId::Far(far.id), why)
        })?;
        let dscp = u128::from(far.dscp.unwrap_or(0));
        Ok(Action::new(action, [own, peer, tunnel.teid.into(), GTPU_PORT, dscp]))
    }

    fn add_endpoint(
        &self,
        entries: &mut Entries,
        session: &Session,
        endpoint: Endpoint,
        number: u32,
    ) -> Result<(), Refusal> {
        let pdrs = session.pdrs_of(endpoint);
        let set = self.rule_sets.number(&rule_set(session, endpoint)?);
        let table = match endpoint {
            Endpoint::Tunnel(_) => Table::TerminationsUplink,
            Endpoint::Network => Table::TerminationsDownlink,
        };
        for pdr in &pdrs {
            let key = Key::new(table, [Match::exact(number), Match::exact(application_of(pdr))]);
            let action = termination(entries, session, pdr)?;
            // An earlier PDR that finds all packets stays.
            entries.entry(key).or_insert(action);
        }
        match endpoint {
            Endpoint::Tunnel(teid) => {
                let sources = (source_v4(session, &pdrs), source_prefix(session, &pdrs));
                let to_ue = pdrs.iter().any(|pdr| is_from_core(pdr));
                let values = [number.into(), set.into(), sources.0, sources.1, to_ue.into()];
                let key = Key::new(Table::SessionsUplink, [Match::exact(teid)]);
                entries.insert(key, Action::new("uplink_session", values));
            }
            Endpoint::Network => add_addresses(
                entries,
                &pdrs,
                Action::new("downlink_session", [number.into(), set.into()]),
            ),
        }
        Ok(())
    }
}

/// The entries by which packets find the UEs of PDRs.
fn add_addresses(entries: &mut Entries, pdrs: &[&Pdr], action: Action) {
    for ue in pdrs.iter().filter_map(|pdr| pdr.pdi.ue) {
        if let Some(v4) = ue.addresses.v4 {
            let key = Key::new(Table::SessionsDownlinkIpv4, [Match::exact(u32::from(v4))]);
            entries.insert(key, action.clone());
        }
        if let Some(v6) = ue.addresses.v6 {
            let key = Key::new(Table::SessionsDownlinkIpv6, [Match::exact(u128::from(v6) >> 64)]);
            entries.insert(key, action.clone());
        }
    }
}

/// `NO_IPV4` and `NO_PREFIX` of `functions/upf/packet.p4`.
const NO_IPV4: u128 = u32::MAX as u128;
const NO_PREFIX: u128 = u64::MAX as u128;

/// The IPv4 address that packets of a tunnel must come from.
fn source_v4(session: &Session, pdrs: &[&Pdr]) -> u128 {
    source(session, pdrs, NO_IPV4, |addresses| {
        Some(u32::from(addresses.v4?).into())
    })
}

/// The prefix that they must come from.
fn source_prefix(session: &Session, pdrs: &[&Pdr]) -> u128 {
    source(session, pdrs, NO_PREFIX, |addresses| {
        Some(u128::from(addresses.v6?) >> 64)
    })
}

/// The address that packets of a tunnel must come from: 0 for any, when no UE is known or several are; `none` when the
/// UEs have none of this family. What comes from elsewhere than the access side is for the UE.
///
/// A PDR finds packets from the addresses that it names (TS 29.244 §5.2.1). One that names no UE is of those of the
/// tunnel's others, or else of the session's: SMFs leave it out of PDRs for QoS flows, or of all in tunnels.
fn source(session: &Session, pdrs: &[&Pdr], none: u128, address: impl Fn(&Addresses) -> Option<u128>) -> u128 {
    if pdrs.iter().any(|pdr| is_from_core(pdr)) {
        return 0;
    }
    let mut ues = ues_of(pdrs);
    if ues.is_empty() && !pdrs.iter().any(|pdr| leads_back(session, pdr)) {
        ues = ues_of(&session.pdrs_of(Endpoint::Network));
    }
    let found: BTreeSet<u128> = ues.iter().filter_map(address).collect();
    match found.len() {
        0 if !ues.is_empty() => none,
        1 => found.first().copied().unwrap_or(0),
        _ => 0,
    }
}

/// The addresses of the UEs that PDRs name: of the access side as the source.
fn ues_of(pdrs: &[&Pdr]) -> Vec<Addresses> {
    let is_sender = |pdr: &&&Pdr| {
        let is_destination = pdr.pdi.ue.is_some_and(|ue| ue.is_destination);
        pdr.pdi.source != Interface::Access || !is_destination
    };
    let ues = pdrs.iter().filter(is_sender).filter_map(|pdr| pdr.pdi.ue);
    ues.map(|ue| ue.addresses)
        .filter(|named| named.any().is_some())
        .collect()
}

/// Whether packets go back to the access side: those for the UE that the former gNB forwards at a handover.
fn leads_back(session: &Session, pdr: &Pdr) -> bool {
    let far = session.far_of(pdr);
    far.is_some_and(|far| far.destination == Some(Interface::Access))
}

/// What becomes of the packets of a PDR, and the entries of its QERs.
fn termination(entries: &mut Entries, session: &Session, pdr: &Pdr) -> Result<Action, Refusal> {
    let refuse = |why: &str| Err(Refusal::of_rule(RuleId::Pdr(pdr.id), why));
    if pdr.qers.len() > 2 || pdr.urrs.len() > 4 {
        return refuse("a PDR has at most two QERs and four URRs");
    }
    if pdr.pdi.ue.is_some_and(|ue| ue.prefix_length < 64) {
        return refuse("the prefix of a UE has 64 bits");
    }
    let twin = if is_from_core(pdr) { TWIN } else { 0 };
    let mut qers: Vec<&Qer> = pdr.qers.iter().filter_map(|id| session.qers.get(id)).collect();
    // The first is that of the flow, which marks packets. No flow has the number 0.
    qers.sort_by_key(|qer| qer.qfi.unwrap_or(0) == 0);
    for qer in &qers {
        add_qer(entries, qer, twin);
    }
    let urrs: Vec<_> = pdr.urrs.iter().filter_map(|id| session.urrs.get(id)).collect();
    let is_uplink = pdr.pdi.source == Interface::Access;
    let is_closed = |qer: &&Qer| {
        if is_uplink {
            is_uplink_closed(qer)
        } else {
            is_downlink_closed(qer)
        }
    };
    if urrs.iter().any(|urr| urr.measured.is_exhausted) {
        return Ok(Action::new("drop_packet", []));
    }
    let closed = u32::from(qers.get(1).is_some_and(is_closed));
    let before_qos: u32 = (0u32..)
        .zip(&urrs)
        .map(|(at, urr)| u32::from(urr.is_before_qos()) << at)
        .sum();
    let far = session.far_of(pdr).map_or(0, |far| far.number);
    let qer = |at: usize| qers.get(at).map_or(0, |qer| qer.number + twin);
    let urr = |at: usize| urrs.get(at).map_or(0, |urr| urr.number + twin);
    let rules = [far, qer(0), qer(1), urr(0), urr(1), urr(2), urr(3), before_qos, closed];
    let values = rules.map(u128::from);
    Ok(Action::new("forward", values))
}

/// A rate of 0 lets nothing through.
fn is_uplink_closed(qer: &Qer) -> bool {
    !qer.is_uplink_open || qer.maximum.is_some_and(|rates| rates.uplink == 0)
}

fn is_downlink_closed(qer: &Qer) -> bool {
    !qer.is_downlink_open || qer.maximum.is_some_and(|rates| rates.downlink == 0)
}

fn add_qer(entries: &mut Entries, qer: &Qer, twin: u32) {
    let (mut closed, mut rates) = ((is_uplink_closed(qer), is_downlink_closed(qer)), qer.maximum);
    if twin != 0 {
        closed = (closed.1, closed.0);
        rates = rates.map(|rates| Rates {
            uplink: rates.downlink,
            downlink: rates.uplink,
        });
    }
    let number = [Match::exact(qer.number + twin)];
    let qfi = u128::from(qer.qfi.unwrap_or(0));
    let values = [closed.0.into(), closed.1.into(), qfi, qer.is_reflective.into()];
    entries.insert(Key::new(Table::Qers, number), Action::new("set_qer", values));
    let uplink = rates.map(|rates| rates.uplink);
    let downlink = rates.map(|rates| rates.downlink);
    for (table, rate) in [(Table::UplinkRates, uplink), (Table::DownlinkRates, downlink)] {
        entries.insert(Key::new(table, number), meter(rate));
    }
}

/// Bytes a second, and a burst of 100 ms or two large frames. Without a rate there are no arguments: no limit.
fn meter(kbit: Option<u64>) -> Action {
    let Some(kbit) = kbit.filter(|kbit| *kbit > 0) else {
        return Action::new("rate", []);
    };
    let rate = u128::from(kbit) * 125;
    Action::new("rate", [rate, (rate / 10).max(3_200)])
}
