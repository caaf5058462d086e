//! Sessions are established, modified and deleted (§6.3).

use super::{Event, Node, Request, UserPlane};
use crate::rules::{Report, Urr, triggers};
use crate::session::{Asked, Session};
use crate::wire::{Addresses, Cause, FSeid, FTeid, NodeId, Refusal, Usage, Writer, kind};
use std::time::Duration;

impl Node {
    /// A new session.
    pub(super) fn establish(&mut self, request: &Request<'_>, plane: &mut dyn UserPlane) -> Result<Vec<u8>, Refusal> {
        let node = self.associated(request)?;
        let peer: FSeid = request.elements.mandatory(kind::F_SEID)?;
        for rule in [kind::CREATE_PDR, kind::CREATE_FAR] {
            request.elements.mandatory_group(rule)?;
        }
        if self.sessions.len() >= self.settings.limits.sessions {
            return Err(Refusal::new(Cause::NoResources, "there are no more sessions"));
        }
        let mut session = Session::new(self.choose_seid(), peer, node);
        session.apply(request.elements, request.now)?;
        let chosen = chosen_of(&session);
        self.resources.settle(None, &mut session)?;
        if let Err(refusal) = plane.change(None, Some(&session)) {
            self.resources.release(&session, None);
            return Err(refusal);
        }
        let own = FSeid {
            seid: session.seid,
            addresses: Addresses::from(self.settings.address),
        };
        let answer = request.answer(Some(peer.seid), |answer| {
            self.write_node(answer);
            answer.cause(Cause::Accepted);
            answer.element(kind::F_SEID, |value| own.write(value));
            write_created(answer, &session, &chosen);
        });
        self.counters.established += 1;
        self.store(None, session);
        Ok(answer)
    }

    /// A SEID of this life of the UPF: one of an earlier life means no session of this one.
    fn choose_seid(&mut self) -> u64 {
        loop {
            self.next_seid = self.next_seid.wrapping_add(1);
            let seid = u64::from(self.settings.recovery) << 32 | u64::from(self.next_seid);
            if self.next_seid != 0 && !self.sessions.contains_key(&seid) {
                return seid;
            }
        }
    }

    /// Other rules for a session. It is as before when something is wrong.
    pub(super) fn modify(&mut self, request: &Request<'_>, plane: &mut dyn UserPlane) -> Result<Vec<u8>, Refusal> {
        let before = self.session_of(request)?.clone();
        let mut session = before.clone();
        if let Some(peer) = request.elements.optional::<FSeid>(kind::F_SEID)? {
            session.peer = peer;
        }
        let asked = session.apply(request.elements, request.now)?;
        self.begin_quotas(&mut session, &asked, request.now, plane)?;
        let chosen = chosen_of(&session);
        self.resources.settle(Some(&before), &mut session)?;
        if let Err(refusal) = plane.change(Some(&before), Some(&session)) {
            self.resources.release(&session, Some(&before));
            return Err(refusal);
        }
        if asked.drops_buffered {
            plane.drop_buffered(&before);
        }
        plane.send_end_markers(&asked.end_markers);
        let reports = self.reports_of_change(&before, &mut session, &asked, request.now, plane);
        let answer = request.answer(Some(session.peer.seid), |answer| {
            answer.cause(Cause::Accepted);
            write_created(answer, &session, &chosen);
            for report in &reports {
                super::reports::write(answer, kind::USAGE_REPORT_MODIFICATION, report);
            }
        });
        self.resources.release(&before, Some(&session));
        // Packets that wait under rules as they were are not told again.
        let keeps_fars =
            before.fars == session.fars && !request.elements.has(kind::UPDATE_FAR) && !asked.drops_buffered;
        let is_as_before = |pdr: &u16| keeps_fars && before.pdrs.get(pdr) == session.pdrs.get(pdr);
        self.notified
            .retain(|(seid, pdr)| *seid != session.seid || is_as_before(pdr));
        self.store(Some(&before), session);
        Ok(answer)
    }

    fn session_of(&self, request: &Request<'_>) -> Result<&Session, Refusal> {
        let seid = request.header.seid.unwrap_or(0);
        let unknown = || Refusal::new(Cause::SessionContextNotFound, format!("there is no session {seid:#x}"));
        self.sessions.get(&seid).ok_or_else(unknown)
    }

    /// New quotas count from what the counters are now.
    fn begin_quotas(
        &self,
        session: &mut Session,
        asked: &Asked,
        now: Duration,
        plane: &mut dyn UserPlane,
    ) -> Result<(), Refusal> {
        // A rule that this request has created counts from zero.
        let quotas = asked
            .quotas
            .iter()
            .filter(|(id, _)| session.urrs.get(id).is_some_and(|urr| urr.number != 0));
        let quotas: Vec<(u32, u32)> = quotas.copied().collect();
        let numbers = quotas.iter().filter_map(|(id, _)| Some(session.urrs.get(id)?.number));
        let numbers: Vec<u32> = numbers.collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let counters = plane.counters(&numbers);
        let counters = counters.map_err(|why| Refusal::new(Cause::SystemFailure, why))?;
        for ((id, given), counters) in quotas.iter().zip(counters) {
            if let Some(urr) = session.urrs.get_mut(id) {
                urr.begin_quotas(*given, now, counters);
            }
        }
        Ok(())
    }

    /// Reports of rules that are removed, or that the SMF queries.
    fn reports_of_change(
        &mut self,
        before: &Session,
        session: &mut Session,
        asked: &Asked,
        now: Duration,
        plane: &mut dyn UserPlane,
    ) -> Vec<Report> {
        let is_removed =
            |id: &u32| session.urrs.get(id).map(|urr| urr.number) != before.urrs.get(id).map(|urr| urr.number);
        let mut removed: Vec<_> = before
            .urrs
            .iter()
            .filter(|(id, _)| is_removed(id))
            .map(|(_, urr)| urr.clone())
            .collect();
        let queried = asked.queried.iter().filter_map(|id| session.urrs.get(id));
        let urrs: Vec<Urr> = removed.iter().chain(queried).cloned().collect();
        if urrs.is_empty() {
            return Vec::new();
        }
        let mut counters = self.counters_of(&urrs, plane).into_iter();
        let mut next = || counters.next().unwrap_or_default();
        let mut reports: Vec<Report> = removed
            .iter_mut()
            .map(|urr| urr.report(triggers::TERMINATION, now, next()))
            .collect();
        for id in &asked.queried {
            if let Some(urr) = session.urrs.get_mut(id) {
                reports.push(urr.report(triggers::IMMEDIATE, now, next()));
            }
        }
        reports
    }

    /// The session ends; its last usage is in the answer. It ends also while the data plane is away: no SMF asks again.
    pub(super) fn delete(&mut self, request: &Request<'_>, plane: &mut dyn UserPlane) -> Result<Vec<u8>, Refusal> {
        let mut session = self.session_of(request)?.clone();
        self.end_in_plane(&session, plane);
        let urrs: Vec<Urr> = session.urrs.values().cloned().collect();
        let counters = if urrs.is_empty() {
            Vec::new()
        } else {
            self.counters_of(&urrs, plane)
        };
        let urrs = session.urrs.values_mut().zip(counters);
        let reports: Vec<Report> = urrs
            .map(|(urr, counters)| urr.report(triggers::TERMINATION, request.now, counters))
            .collect();
        self.forget(&session);
        Ok(request.answer(Some(session.peer.seid), |answer| {
            answer.cause(Cause::Accepted);
            for report in &session.reports {
                answer.element(kind::USAGE_REPORT_DELETION, |element| element.bytes(report));
            }
            for report in &reports {
                super::reports::write(answer, kind::USAGE_REPORT_DELETION, report);
            }
        }))
    }

    /// Counters. If the data plane cannot be read, those of the last reports: changes are not undone because of that,
    /// and what has been counted since is in the next report of a rule that stays.
    fn counters_of(&mut self, urrs: &[Urr], plane: &mut dyn UserPlane) -> Vec<Usage> {
        let numbers: Vec<u32> = urrs.iter().map(|urr| urr.number).collect();
        plane.counters(&numbers).unwrap_or_else(|why| {
            self.events.push_back(Event::PlaneFailed(why));
            urrs.iter().map(|urr| urr.measured.base).collect()
        })
    }

    /// A session ends without a word of its SMF.
    pub(super) fn end_session(&mut self, seid: u64, plane: &mut dyn UserPlane) {
        let Some(session) = self.sessions.get(&seid).cloned() else {
            return;
        };
        self.end_in_plane(&session, plane);
        self.forget(&session);
    }

    /// If that fails, the data plane is compared with the sessions that there are when it is back.
    fn end_in_plane(&mut self, session: &Session, plane: &mut dyn UserPlane) {
        if let Err(refusal) = plane.change(Some(session), None) {
            self.events.push_back(Event::PlaneFailed(refusal.to_string()));
            plane.drop_buffered(session);
        }
    }

    /// All sessions of a node end.
    pub(super) fn end_sessions_of(&mut self, node: &NodeId, plane: &mut dyn UserPlane) {
        let of_node = self.sessions.values().filter(|session| session.node == *node);
        let seids: Vec<u64> = of_node.map(|session| session.seid).collect();
        for seid in seids {
            self.end_session(seid, plane);
        }
    }

    fn store(&mut self, before: Option<&Session>, session: Session) {
        if let Some(before) = before {
            self.tunnels.remove_all(before);
        }
        self.tunnels.add_all(&session);
        self.changed.insert(session.seid);
        self.sessions.insert(session.seid, session);
    }

    fn forget(&mut self, session: &Session) {
        self.counters.ended += 1;
        self.tunnels.remove_all(session);
        self.resources.release(session, None);
        self.notified.retain(|(seid, _)| *seid != session.seid);
        self.changed.insert(session.seid);
        self.sessions.remove(&session.seid);
    }
}

/// The index from tunnels to sessions.
pub(super) trait TunnelIndex {
    /// A session sends into its tunnels.
    fn add_all(&mut self, session: &Session);
    /// It does not any more.
    fn remove_all(&mut self, session: &Session);
}

impl TunnelIndex for std::collections::HashMap<crate::wire::OuterHeader, u64> {
    fn add_all(&mut self, session: &Session) {
        self.extend(
            session
                .fars
                .values()
                .filter_map(|far| Some((far.tunnel?, session.seid))),
        );
    }

    fn remove_all(&mut self, session: &Session) {
        for tunnel in session.fars.values().filter_map(|far| far.tunnel) {
            if self.get(&tunnel) == Some(&session.seid) {
                self.remove(&tunnel);
            }
        }
    }
}

/// PDRs for which the UPF chooses a tunnel or an address.
fn chosen_of(session: &Session) -> Vec<u16> {
    let chooses = |pdr: &&crate::rules::Pdr| {
        matches!(pdr.pdi.tunnel, Some(FTeid::Choose { .. }))
            || pdr.pdi.ue.is_some_and(|ue| ue.chooses != (false, false))
    };
    session.pdrs.values().filter(chooses).map(|pdr| pdr.id).collect()
}

/// What has been chosen for these PDRs (§7.5.3.2).
fn write_created(answer: &mut Writer, session: &Session, chosen: &[u16]) {
    for pdr in chosen.iter().filter_map(|id| session.pdrs.get(id)) {
        answer.element(kind::CREATED_PDR, |created| {
            created.u16_element(kind::PDR_ID, pdr.id);
            if let Some(tunnel) = pdr.pdi.tunnel {
                created.element(kind::F_TEID, |value| tunnel.write(value));
            }
            if let Some(ue) = pdr.pdi.ue {
                created.element(kind::UE_IP_ADDRESS, |value| ue.write(value));
            }
        });
    }
}
