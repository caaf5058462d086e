//! A session: its rules, and what requests do to them.

use crate::rules::{Bar, Far, Filter, Network, Pdr, Qer, Urr};
use crate::wire::{Cause, Elements, FSeid, FTeid, NodeId, OuterHeader, Refusal, RuleId, UeAddress, kind};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// How packets of a session come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// Without a tunnel, to the address of the UE.
    Network,
    /// In the tunnel with this TEID.
    Tunnel(u32),
}

/// A session of a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its number at this side.
    pub seid: u64,
    /// Its number at the SMF, and where reports go.
    pub peer: FSeid,
    /// The node that has the association.
    pub node: NodeId,
    /// Packet detection rules.
    pub pdrs: BTreeMap<u16, Pdr>,
    /// Forwarding action rules.
    pub fars: BTreeMap<u32, Far>,
    /// QoS enforcement rules.
    pub qers: BTreeMap<u32, Qer>,
    /// Usage reporting rules.
    pub urrs: BTreeMap<u32, Urr>,
    /// Buffering action rules.
    pub bars: BTreeMap<u8, Bar>,
    /// The numbers of its endpoints in the user plane.
    pub endpoints: BTreeMap<Endpoint, u32>,
    /// Usage Reports, as elements have them, that no answer has come to. The SMF may have them: by its number (UR-SEQN)
    /// it knows each (§5.2.2.2.1), so they stay as they are.
    pub reports: Vec<Vec<u8>>,
}

/// What a request contains besides rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Tunnels into which end markers go.
    pub end_markers: Vec<OuterHeader>,
    /// Rules whose usage is reported at once.
    pub queried: Vec<u32>,
    /// Rules with new quotas, and which: bits of [`triggers`](crate::rules::triggers).
    pub quotas: Vec<(u32, u32)>,
    /// Whether buffered packets are dropped.
    pub drops_buffered: bool,
}

/// Rules of each kind in a session.
const RULES_MAX: usize = 64;

/// Bits of PFCPSMReq-Flags (§8.2.31).
const DROP_BUFFERED: u32 = 1;
const QUERY_ALL_URRS: u32 = 4;

impl Session {
    /// A session without rules.
    pub fn new(seid: u64, peer: FSeid, node: NodeId) -> Session {
        Session {
            seid,
            peer,
            node,
            pdrs: BTreeMap::new(),
            fars: BTreeMap::new(),
            qers: BTreeMap::new(),
            urrs: BTreeMap::new(),
            bars: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            reports: Vec::new(),
        }
    }

    /// Changes the rules as a request says: removes, creates, updates.
    ///
    /// # Errors
    /// When something is missing or wrong; the session is of no use then.
    pub fn apply(&mut self, elements: Elements<'_>, now: Duration) -> Result<Asked, Refusal> {
        if elements.has(kind::CREATE_TRAFFIC_ENDPOINT) {
            let refusal = Refusal::new(Cause::ServiceNotSupported, "traffic endpoints are not supported");
            return Err(refusal.with_element(kind::CREATE_TRAFFIC_ENDPOINT));
        }
        self.remove(elements)?;
        let present: Vec<u16> = self.pdrs.keys().copied().collect();
        self.create(elements, now)?;
        self.leave_out_removed(&present);
        let asked = self.update(elements)?;
        self.find_filters()?;
        self.settle_filters()?;
        self.check()?;
        Ok(asked)
    }

    fn remove(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        for group in elements.groups(kind::REMOVE_PDR) {
            let id = group?.mandatory(kind::PDR_ID)?;
            self.pdrs.remove(&id).ok_or_else(|| unknown(RuleId::Pdr(id)))?;
        }
        for group in elements.groups(kind::REMOVE_FAR) {
            let id = group?.mandatory(kind::FAR_ID)?;
            self.fars.remove(&id).ok_or_else(|| unknown(RuleId::Far(id)))?;
        }
        for group in elements.groups(kind::REMOVE_QER) {
            let id = group?.mandatory(kind::QER_ID)?;
            self.qers.remove(&id).ok_or_else(|| unknown(RuleId::Qer(id)))?;
        }
        for group in elements.groups(kind::REMOVE_URR) {
            let id = group?.mandatory(kind::URR_ID)?;
            self.urrs.remove(&id).ok_or_else(|| unknown(RuleId::Urr(id)))?;
        }
        for group in elements.groups(kind::REMOVE_BAR) {
            let id = group?.mandatory(kind::BAR_ID)?;
            self.bars.remove(&id).ok_or_else(|| unknown(RuleId::Bar(id)))?;
        }
        Ok(())
    }

    /// QERs and URRs that the request has removed are left out of PDRs that were there before: a request cannot say it
    /// of the PDR itself, since an Update PDR without QERs or URRs keeps those of before.
    fn leave_out_removed(&mut self, present: &[u16]) {
        let (qers, urrs) = (&self.qers, &self.urrs);
        for pdr in self.pdrs.values_mut().filter(|pdr| present.contains(&pdr.id)) {
            pdr.qers.retain(|id| qers.contains_key(id));
            pdr.urrs.retain(|id| urrs.contains_key(id));
        }
    }

    fn create(&mut self, elements: Elements<'_>, now: Duration) -> Result<(), Refusal> {
        for group in elements.groups(kind::CREATE_FAR) {
            let far = Far::create(group?)?;
            insert(&mut self.fars, far.id, far, RuleId::Far)?;
        }
        for group in elements.groups(kind::CREATE_QER) {
            let qer = Qer::create(group?)?;
            insert(&mut self.qers, qer.id, qer, RuleId::Qer)?;
        }
        for group in elements.groups(kind::CREATE_URR) {
            let urr = Urr::create(group?, now)?;
            insert(&mut self.urrs, urr.id, urr, RuleId::Urr)?;
        }
        for group in elements.groups(kind::CREATE_BAR) {
            let bar = Bar::create(group?)?;
            insert(&mut self.bars, bar.id, bar, RuleId::Bar)?;
        }
        for group in elements.groups(kind::CREATE_PDR) {
            let pdr = Pdr::create(group?)?;
            insert(&mut self.pdrs, pdr.id, pdr, RuleId::Pdr)?;
        }
        Ok(())
    }

    fn update(&mut self, elements: Elements<'_>) -> Result<Asked, Refusal> {
        let mut asked = Asked::default();
        for group in elements.groups(kind::UPDATE_FAR) {
            let group = group?;
            let id = group.mandatory(kind::FAR_ID)?;
            let far = self.fars.get_mut(&id).ok_or_else(|| unknown(RuleId::Far(id)))?;
            asked.end_markers.extend(far.update(group)?);
        }
        for group in elements.groups(kind::UPDATE_QER) {
            let group = group?;
            let id = group.mandatory(kind::QER_ID)?;
            self.qers
                .get_mut(&id)
                .ok_or_else(|| unknown(RuleId::Qer(id)))?
                .update(group)?;
        }
        for group in elements.groups(kind::UPDATE_URR) {
            let group = group?;
            let id = group.mandatory(kind::URR_ID)?;
            let urr = self.urrs.get_mut(&id).ok_or_else(|| unknown(RuleId::Urr(id)))?;
            let given = urr.update(group)?;
            if given != 0 {
                asked.quotas.push((id, given));
            }
        }
        for group in elements.groups(kind::UPDATE_BAR) {
            let group = group?;
            let id = group.mandatory(kind::BAR_ID)?;
            self.bars
                .get_mut(&id)
                .ok_or_else(|| unknown(RuleId::Bar(id)))?
                .update(group)?;
        }
        for group in elements.groups(kind::UPDATE_PDR) {
            let group = group?;
            let id = group.mandatory(kind::PDR_ID)?;
            self.pdrs
                .get_mut(&id)
                .ok_or_else(|| unknown(RuleId::Pdr(id)))?
                .update(group)?;
        }
        self.read_wishes(elements, &mut asked)?;
        Ok(asked)
    }

    fn read_wishes(&self, elements: Elements<'_>, asked: &mut Asked) -> Result<(), Refusal> {
        let flags = elements.flags(kind::PFCPSMREQ_FLAGS)?.unwrap_or(0);
        asked.drops_buffered = flags & DROP_BUFFERED != 0;
        if flags & QUERY_ALL_URRS != 0 {
            asked.queried.extend(self.urrs.keys());
            return Ok(());
        }
        for group in elements.groups(kind::QUERY_URR) {
            let id = group?.mandatory(kind::URR_ID)?;
            if !self.urrs.contains_key(&id) {
                return Err(unknown(RuleId::Urr(id)));
            }
            asked.queried.push(id);
        }
        Ok(())
    }

    /// Filters that PDRs name by the number that they have in another one, usually that of the other direction.
    fn find_filters(&mut self) -> Result<(), Refusal> {
        let filters = self.pdrs.values().flat_map(|pdr| &pdr.pdi.filters);
        let known: BTreeMap<u32, Filter> = filters
            .filter_map(|filter| Some((filter.id?, filter.clone())))
            .collect();
        for pdr in self.pdrs.values_mut() {
            for id in std::mem::take(&mut pdr.pdi.known_filters) {
                let filter = known.get(&id).ok_or_else(|| {
                    let why = format!("no PDR of the session describes SDF filter {id}");
                    Refusal::of_rule(RuleId::Pdr(pdr.id), why).with_element(kind::SDF_FILTER)
                })?;
                pdr.pdi.filters.push(filter.clone());
            }
        }
        Ok(())
    }

    /// Filters that spell out the UE's own address mean what `assigned` means (TS 29.212 §5.4.2).
    fn settle_filters(&mut self) -> Result<(), Refusal> {
        let of_session: Vec<UeAddress> = self.pdrs.values().filter_map(|pdr| pdr.pdi.ue).collect();
        for pdr in self.pdrs.values_mut() {
            let ues = pdr.pdi.ue.map_or(of_session.clone(), |ue| vec![ue]);
            let own = |network: &Network| {
                ues.iter().any(|ue| {
                    let v4 = ue.addresses.v4.map(IpAddr::V4);
                    let v6 = ue.addresses.v6.map(IpAddr::V6);
                    v4.into_iter().chain(v6).any(|address| network.has(address))
                })
            };
            for filter in &mut pdr.pdi.filters {
                if let Some(local) = filter.local.take()
                    && !own(&local)
                {
                    let why = format!("a filter names {}, which is no address of the UE", local.address);
                    return Err(Refusal::of_rule(RuleId::Pdr(pdr.id), why).with_element(kind::SDF_FILTER));
                }
            }
        }
        Ok(())
    }

    /// Everything that PDRs name is there.
    fn check(&self) -> Result<(), Refusal> {
        let has_no_tunnel = |pdr: &Pdr| pdr.pdi.tunnel.is_none();
        // Packets find the session first, by any of its PDRs, and then a PDR of it (§5.2.1).
        let has_ue = self.pdrs.values().any(|pdr| has_no_tunnel(pdr) && pdr.pdi.ue.is_some());
        for pdr in self.pdrs.values() {
            if has_no_tunnel(pdr) && !has_ue {
                let refusal = Refusal::new(Cause::ConditionalIeMissing, "neither a tunnel nor a UE is named");
                return Err(refusal.with_element(kind::UE_IP_ADDRESS).with_rule(RuleId::Pdr(pdr.id)));
            }
            let missing = |what: &str, id: u32| {
                let why = format!("PDR {} names {what} {id}, which does not exist", pdr.id);
                Err(Refusal::of_rule(RuleId::Pdr(pdr.id), why))
            };
            match pdr.far {
                None => {
                    let refusal = Refusal::new(Cause::ConditionalIeMissing, format!("PDR {} names no FAR", pdr.id));
                    return Err(refusal.with_element(kind::FAR_ID).with_rule(RuleId::Pdr(pdr.id)));
                }
                Some(far) if !self.fars.contains_key(&far) => return missing("FAR", far),
                Some(_) => {}
            }
            if let Some(qer) = pdr.qers.iter().find(|qer| !self.qers.contains_key(qer)) {
                return missing("QER", *qer);
            }
            if let Some(urr) = pdr.urrs.iter().find(|urr| !self.urrs.contains_key(urr)) {
                return missing("URR", *urr);
            }
        }
        Ok(())
    }

    /// The FAR of a PDR.
    pub fn far_of(&self, pdr: &Pdr) -> Option<&Far> {
        self.fars.get(&pdr.far?)
    }

    /// How the packets of a PDR come in; none while its tunnel has not been chosen.
    pub fn endpoint_of(pdr: &Pdr) -> Option<Endpoint> {
        match pdr.pdi.tunnel {
            None => Some(Endpoint::Network),
            Some(FTeid::Given { teid, .. }) => Some(Endpoint::Tunnel(teid)),
            Some(FTeid::Choose { .. }) => None,
        }
    }

    /// PDRs of an endpoint in the order in which packets look at them.
    pub fn pdrs_of(&self, endpoint: Endpoint) -> Vec<&Pdr> {
        let is_of = |pdr: &&Pdr| Session::endpoint_of(pdr) == Some(endpoint);
        let mut pdrs: Vec<&Pdr> = self.pdrs.values().filter(is_of).collect();
        pdrs.sort_by_key(|pdr| (pdr.precedence, pdr.id));
        pdrs
    }
}

fn insert<K: Ord + Copy, V>(
    rules: &mut BTreeMap<K, V>,
    id: K,
    rule: V,
    name: impl Fn(K) -> RuleId,
) -> Result<(), Refusal> {
    if rules.len() >= RULES_MAX {
        let why = format!("a session has at most {RULES_MAX} rules of a kind");
        return Err(Refusal::new(Cause::NoResources, why).with_rule(name(id)));
    }
    match rules.insert(id, rule) {
        None => Ok(()),
        Some(_) => Err(Refusal::of_rule(name(id), "a rule with this identifier exists")),
    }
}

fn unknown(rule: RuleId) -> Refusal {
    Refusal::of_rule(rule, "there is no such rule")
}
