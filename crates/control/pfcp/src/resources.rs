//! What sessions share: numbers of rules, TEIDs, addresses of UEs.

use crate::numbers::Numbers;
use crate::rules::{Interface, Pdr};
use crate::session::{Endpoint, Session};
use crate::wire::{Addresses, Cause, FTeid, Refusal, RuleId, UeAddress, kind};
use std::collections::HashMap;
use std::collections::btree_map::Entry;
use std::net::{Ipv4Addr, Ipv6Addr};

/// How many there are of everything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions.
    pub sessions: usize,
    /// FARs.
    pub fars: u32,
    /// QERs.
    pub qers: u32,
    /// URRs.
    pub urrs: u32,
}

/// Addresses for UEs that the UPF chooses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pools {
    /// The first IPv4 address, and how many.
    pub v4: Option<(Ipv4Addr, u32)>,
    /// The first IPv6 prefix of 64 bits, and how many.
    pub v6: Option<(Ipv6Addr, u32)>,
}

/// What packets of a UE are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum UeKey {
    V4(Ipv4Addr),
    Prefix(u64),
}

/// What has been given to sessions.
#[derive(Debug)]
pub struct Resources {
    tunnels_at: Addresses,
    pools: Pools,
    fars: Numbers,
    qers: Numbers,
    urrs: Numbers,
    endpoints: Numbers,
    pool_v4: Pool,
    pool_v6: Pool,
    teids: HashMap<u32, u64>,
    ues: HashMap<UeKey, u64>,
    next_teid: u32,
}

impl Resources {
    /// Nothing is given. Tunnels end at `tunnels_at`; TEIDs that are chosen begin after `first_teid`.
    pub fn new(limits: Limits, tunnels_at: Addresses, pools: Pools, first_teid: u32) -> Resources {
        Resources {
            tunnels_at,
            pools,
            fars: Numbers::new(limits.fars),
            qers: Numbers::new(limits.qers),
            urrs: Numbers::new(limits.urrs),
            endpoints: Numbers::new(u32::MAX - 1),
            pool_v4: Pool::new(pools.v4.map_or(0, |(_, count)| count)),
            pool_v6: Pool::new(pools.v6.map_or(0, |(_, count)| count)),
            teids: HashMap::new(),
            ues: HashMap::new(),
            next_teid: first_teid,
        }
    }

    /// Gives a session what its rules need; what it has of `before` it keeps.
    ///
    /// # Errors
    /// When something has run out, or belongs to another session. Nothing is given then.
    pub fn settle(&mut self, before: Option<&Session>, session: &mut Session) -> Result<(), Refusal> {
        let settled = self.give(session);
        if settled.is_err() {
            self.release(session, before);
        }
        settled
    }

    fn give(&mut self, session: &mut Session) -> Result<(), Refusal> {
        let exhausted = |what: &str| Refusal::new(Cause::NoResources, format!("there are no more {what}"));
        for far in session.fars.values_mut().filter(|far| far.number == 0) {
            far.number = self.fars.take().ok_or_else(|| exhausted("FARs"))?;
        }
        for qer in session.qers.values_mut().filter(|qer| qer.number == 0) {
            qer.number = self.qers.take().ok_or_else(|| exhausted("QERs"))?;
        }
        for urr in session.urrs.values_mut().filter(|urr| urr.number == 0) {
            urr.number = self.urrs.take().ok_or_else(|| exhausted("URRs"))?;
        }
        self.choose_tunnels(session)?;
        self.choose_addresses(session)?;
        self.claim(session)?;
        let wanted: Vec<Endpoint> = session.pdrs.values().filter_map(Session::endpoint_of).collect();
        session.endpoints.retain(|endpoint, _| wanted.contains(endpoint));
        for endpoint in wanted {
            if let Entry::Vacant(vacant) = session.endpoints.entry(endpoint) {
                vacant.insert(self.endpoints.take().ok_or_else(|| exhausted("endpoints"))?);
            }
        }
        Ok(())
    }

    /// Tunnels for PDRs that leave the choice to the UPF; one for those with the same number, also when they come in
    /// later requests. Some peers number their tunnels anew in each request: those of another interface stay apart.
    fn choose_tunnels(&mut self, session: &mut Session) -> Result<(), Refusal> {
        let mut chosen: HashMap<u8, FTeid> = HashMap::new();
        let given: Vec<(u8, Interface, FTeid)> = session
            .pdrs
            .values()
            .filter_map(|pdr| match pdr.pdi.tunnel? {
                FTeid::Choose { .. } => None,
                tunnel => Some((pdr.pdi.choose_id?, pdr.pdi.source, tunnel)),
            })
            .collect();
        for pdr in session.pdrs.values_mut() {
            let Some(FTeid::Choose { v4, v6, id }) = pdr.pdi.tunnel else {
                continue;
            };
            let source = pdr.pdi.source;
            let is_same = |one: &&(u8, Interface, FTeid)| Some(one.0) == id && one.1 == source;
            let earlier = given.iter().find(is_same).map(|one| one.2);
            let known = earlier.or_else(|| chosen.get(&id?).copied());
            let tunnel = match known {
                Some(tunnel) => tunnel,
                None => self
                    .choose_tunnel(session.seid, v4, v6)
                    .map_err(|refusal| refusal.with_rule(RuleId::Pdr(pdr.id)))?,
            };
            chosen.extend(id.map(|id| (id, tunnel)));
            pdr.pdi.tunnel = Some(tunnel);
        }
        Ok(())
    }

    fn choose_tunnel(&mut self, seid: u64, v4: bool, v6: bool) -> Result<FTeid, Refusal> {
        let addresses = Addresses {
            v4: self.tunnels_at.v4.filter(|_| v4),
            v6: self.tunnels_at.v6.filter(|_| v6),
        };
        if addresses.any().is_none() {
            let refusal = Refusal::new(
                Cause::InvalidFTeidAllocation,
                "no tunnels end at an address of this family here",
            );
            return Err(refusal.with_element(kind::F_TEID));
        }
        loop {
            self.next_teid = self.next_teid.wrapping_add(1);
            let teid = self.next_teid;
            if teid != 0 && !self.teids.contains_key(&teid) {
                self.teids.insert(teid, seid);
                return Ok(FTeid::Given { teid, addresses });
            }
        }
    }

    /// Addresses for PDRs that leave the choice to the UPF; all of a session have the same one.
    fn choose_addresses(&mut self, session: &mut Session) -> Result<(), Refusal> {
        let known = session.pdrs.values().filter_map(|pdr| pdr.pdi.ue);
        let mut chosen = known
            .map(|ue| ue.addresses)
            .find(|known| known.any().is_some())
            .unwrap_or_default();
        for pdr in session.pdrs.values_mut() {
            let Some(ue) = &mut pdr.pdi.ue else { continue };
            let (wants_v4, wants_v6) = std::mem::take(&mut ue.chooses);
            // Each is noted at once: if the other cannot be had, it is given back.
            if wants_v4 {
                if chosen.v4.is_none() {
                    chosen.v4 = Some(self.take_v4(session.seid)?);
                }
                ue.addresses.v4 = chosen.v4;
            }
            if wants_v6 {
                if chosen.v6.is_none() {
                    chosen.v6 = Some(self.take_v6(session.seid)?);
                }
                ue.addresses.v6 = chosen.v6;
            }
        }
        Ok(())
    }

    fn take_v4(&mut self, seid: u64) -> Result<Ipv4Addr, Refusal> {
        let (first, _) = self.pools.v4.ok_or_else(no_address)?;
        let address = |at: u32| Ipv4Addr::from(u32::from(first).wrapping_add(at));
        let is_free = |at| !self.ues.contains_key(&UeKey::V4(address(at)));
        let at = self.pool_v4.choose(is_free).ok_or_else(no_address)?;
        self.pool_v4.next = at + 1;
        self.give_ue(UeKey::V4(address(at)), seid);
        Ok(address(at))
    }

    fn take_v6(&mut self, seid: u64) -> Result<Ipv6Addr, Refusal> {
        let (first, _) = self.pools.v6.ok_or_else(no_address)?;
        let address = |at: u32| u128::from(first).wrapping_add(u128::from(at) << 64);
        let key = |at: u32| UeKey::Prefix((address(at) >> 64) as u64);
        let is_free = |at| !self.ues.contains_key(&key(at));
        let at = self.pool_v6.choose(is_free).ok_or_else(no_address)?;
        self.pool_v6.next = at + 1;
        self.give_ue(key(at), seid);
        Ok(Ipv6Addr::from(address(at)))
    }

    /// The address of a UE is that of this session; one that a SMF has named may be one of a pool.
    fn give_ue(&mut self, key: UeKey, seid: u64) {
        if self.ues.insert(key, seid).is_none()
            && let Some(pool) = self.pool_of(key)
        {
            pool.used += 1;
        }
    }

    fn take_back_ue(&mut self, key: UeKey) {
        if self.ues.remove(&key).is_some()
            && let Some(pool) = self.pool_of(key)
        {
            pool.used -= 1;
        }
    }

    /// The pool that has an address.
    fn pool_of(&mut self, key: UeKey) -> Option<&mut Pool> {
        match key {
            UeKey::V4(address) => {
                let (first, count) = self.pools.v4?;
                (u32::from(address).wrapping_sub(u32::from(first)) < count).then_some(&mut self.pool_v4)
            }
            UeKey::Prefix(prefix) => {
                let (first, count) = self.pools.v6?;
                let at = prefix.wrapping_sub((u128::from(first) >> 64) as u64);
                (at < u64::from(count)).then_some(&mut self.pool_v6)
            }
        }
    }

    /// TEIDs and UE addresses belong to one session.
    fn claim(&mut self, session: &Session) -> Result<(), Refusal> {
        for pdr in session.pdrs.values() {
            let taken = |what: &str, kind: u16| {
                let why = format!("{what} belongs to another session");
                Err(Refusal::of_rule(RuleId::Pdr(pdr.id), why).with_element(kind))
            };
            if let Some(FTeid::Given { teid, .. }) = pdr.pdi.tunnel
                && *self.teids.entry(teid).or_insert(session.seid) != session.seid
            {
                return taken("the TEID", kind::F_TEID);
            }
            for key in network_keys(pdr) {
                match self.ues.get(&key) {
                    None => self.give_ue(key, session.seid),
                    Some(owner) if *owner == session.seid => {}
                    Some(_) => return taken("the address of the UE", kind::UE_IP_ADDRESS),
                }
            }
        }
        Ok(())
    }

    /// Takes back what a session has and `kept` has not.
    pub fn release(&mut self, session: &Session, kept: Option<&Session>) {
        let is_kept = |is_in: &dyn Fn(&Session) -> bool| kept.is_some_and(is_in);
        for far in session.fars.values().filter(|far| far.number != 0) {
            if !is_kept(&|kept| kept.fars.values().any(|other| other.number == far.number)) {
                self.fars.give_back(far.number);
            }
        }
        for qer in session.qers.values().filter(|qer| qer.number != 0) {
            if !is_kept(&|kept| kept.qers.values().any(|other| other.number == qer.number)) {
                self.qers.give_back(qer.number);
            }
        }
        for urr in session.urrs.values().filter(|urr| urr.number != 0) {
            if !is_kept(&|kept| kept.urrs.values().any(|other| other.number == urr.number)) {
                self.urrs.give_back(urr.number);
            }
        }
        for (endpoint, number) in &session.endpoints {
            if !is_kept(&|kept| kept.endpoints.get(endpoint) == Some(number)) {
                self.endpoints.give_back(*number);
            }
        }
        for pdr in session.pdrs.values() {
            self.release_pdr(session.seid, pdr, kept);
        }
    }

    fn release_pdr(&mut self, seid: u64, pdr: &Pdr, kept: Option<&Session>) {
        let kept_pdrs = || kept.into_iter().flat_map(|kept| kept.pdrs.values());
        if let Some(FTeid::Given { teid, .. }) = pdr.pdi.tunnel
            && !kept_pdrs().any(|other| Session::endpoint_of(other) == Some(Endpoint::Tunnel(teid)))
            && self.teids.get(&teid) == Some(&seid)
        {
            self.teids.remove(&teid);
        }
        for key in ue_keys(pdr) {
            if kept_pdrs().any(|other| ue_keys(other).contains(&key)) {
                continue;
            }
            if self.ues.get(&key) == Some(&seid) {
                self.take_back_ue(key);
            }
        }
    }

    /// What sessions have that were kept over a restart.
    pub fn restore<'a>(&mut self, sessions: impl Iterator<Item = &'a Session> + Clone) {
        let numbers = |of: fn(&Session) -> Vec<u32>| sessions.clone().flat_map(of).collect::<Vec<u32>>();
        self.fars
            .set_used(numbers(|session| session.fars.values().map(|far| far.number).collect()));
        self.qers
            .set_used(numbers(|session| session.qers.values().map(|qer| qer.number).collect()));
        self.urrs
            .set_used(numbers(|session| session.urrs.values().map(|urr| urr.number).collect()));
        self.endpoints
            .set_used(numbers(|session| session.endpoints.values().copied().collect()));
        for session in sessions.clone() {
            for pdr in session.pdrs.values() {
                if let Some(FTeid::Given { teid, .. }) = pdr.pdi.tunnel {
                    self.teids.insert(teid, session.seid);
                }
                for key in network_keys(pdr) {
                    self.give_ue(key, session.seid);
                }
            }
        }
        // An address may have been chosen for a PDR with a tunnel alone.
        for session in sessions {
            for key in session.pdrs.values().flat_map(ue_keys) {
                if !self.ues.contains_key(&key) && self.pool_of(key).is_some() {
                    self.give_ue(key, session.seid);
                }
            }
        }
    }
}

/// Addresses that are chosen one after the other, so that one which was given back comes again late.
#[derive(Debug)]
struct Pool {
    count: u32,
    /// How many of them sessions have.
    used: u32,
    next: u32,
}

impl Pool {
    fn new(count: u32) -> Pool {
        Pool {
            count,
            used: 0,
            next: 0,
        }
    }

    /// The place of the next address that is free.
    fn choose(&self, is_free: impl Fn(u32) -> bool) -> Option<u32> {
        if self.used >= self.count {
            return None;
        }
        let mut all = (self.next..self.count).chain(0..self.next);
        all.find(|at| is_free(*at))
    }
}

fn no_address() -> Refusal {
    Refusal::new(Cause::AllAddressesOccupied, "no address is free").with_element(kind::UE_IP_ADDRESS)
}

/// What packets to the UE of a PDR are found by.
fn ue_keys(pdr: &Pdr) -> Vec<UeKey> {
    let addresses = pdr
        .pdi
        .ue
        .as_ref()
        .map_or(Addresses::default(), |ue: &UeAddress| ue.addresses);
    let v4 = addresses.v4.map(UeKey::V4);
    let prefix = addresses.v6.map(|v6| UeKey::Prefix((u128::from(v6) >> 64) as u64));
    v4.into_iter().chain(prefix).collect()
}

/// The same for PDRs whose packets come without a tunnel, which are found by nothing else.
fn network_keys(pdr: &Pdr) -> Vec<UeKey> {
    match pdr.pdi.tunnel {
        None => ue_keys(pdr),
        Some(_) => Vec::new(),
    }
}
