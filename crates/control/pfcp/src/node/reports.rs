//! Reports to the SMF that it did not request: usage, packets that wait, errors of tunnels (§7.5.8).

use super::associations::address_of;
use super::requests::Purpose;
use super::{Event, Node, UserPlane};
use crate::rules::{Report, Urr, triggers};
use crate::session::Session;
use crate::wire::{Addresses, FTeid, MessageType, OuterHeader, Usage, Writer, kind, truncated_ntp};
use std::time::Duration;

/// Bits of Report Type (§8.2.21).
const DOWNLINK_DATA: u8 = 1;
const USAGE: u8 = 2;
const ERROR_INDICATION: u8 = 4;

/// Reports of a session that may wait for an answer. With more, usage adds up.
const REPORTS_MAX: usize = 64;

/// URRs that are read in one go.
const READ_MAX: usize = 20_000;

impl Node {
    /// Reads the counters of URRs that may be due, and reports those that are. Once a second is often enough: a
    /// threshold or quota is exceeded by what comes in between.
    pub fn report_usage(&mut self, now: Duration, plane: &mut dyn UserPlane) {
        self.report_again(now);
        let looked_at = self.urrs_to_look_at(now);
        for chunk in looked_at.chunks(READ_MAX) {
            let numbers: Vec<u32> = chunk.iter().map(|(_, _, number)| *number).collect();
            match plane.counters(&numbers) {
                Ok(counters) => self.report_due(now, chunk, &counters, plane),
                Err(why) => return self.events.push_back(Event::PlaneFailed(why)),
            }
        }
    }

    /// The data plane may have been restarted: counters that are lower than before are measured from what they are.
    pub fn counters_restarted(&mut self, plane: &mut dyn UserPlane) {
        let mut urrs: Vec<(u64, &mut Urr)> = Vec::new();
        for session in self.sessions.values_mut() {
            let seid = session.seid;
            urrs.extend(session.urrs.values_mut().map(|urr| (seid, urr)));
        }
        for chunk in urrs.chunks_mut(READ_MAX) {
            let numbers: Vec<u32> = chunk.iter().map(|(_, urr)| urr.number).collect();
            match plane.counters(&numbers) {
                Ok(counters) => {
                    for ((seid, urr), counters) in chunk.iter_mut().zip(&counters) {
                        if urr.counters_restarted(counters) {
                            self.changed.insert(*seid);
                        }
                    }
                }
                Err(why) => return self.events.push_back(Event::PlaneFailed(why)),
            }
        }
    }

    /// Session, identifier and number of URRs that may be due, those of a session one after the other.
    fn urrs_to_look_at(&self, now: Duration) -> Vec<(u64, u32, u32)> {
        let mut found = Vec::new();
        for session in self.sessions.values() {
            let may_report = self.may_report(session);
            let may_be_due = |urr: &&Urr| {
                if may_report {
                    urr.needs_counters() || urr.is_time_due(now)
                } else {
                    // Usage adds up, but quotas hold.
                    urr.has_quota_left()
                }
            };
            let urrs = session.urrs.values().filter(may_be_due);
            found.extend(urrs.map(|urr| (session.seid, urr.id, urr.number)));
        }
        found
    }

    /// Whether a report of a session can be sent.
    fn may_report(&self, session: &Session) -> bool {
        session.reports.len() < REPORTS_MAX && self.is_reachable(session)
    }

    /// Whether the SMF of a session is there: while it is not, usage adds up.
    fn is_reachable(&self, session: &Session) -> bool {
        self.associations
            .get(&session.node)
            .is_some_and(|association| !association.is_lost)
    }

    fn report_due(&mut self, now: Duration, read: &[(u64, u32, u32)], counters: &[Usage], plane: &mut dyn UserPlane) {
        let read: Vec<_> = read.iter().zip(counters).collect();
        for of_session in read.chunk_by(|one, other| one.0.0 == other.0.0) {
            let seid = of_session[0].0.0;
            // What there is no room for stays due.
            if !self.may_request() || self.sessions.get(&seid).is_none_or(|session| !self.may_report(session)) {
                self.stop_used_up(now, seid, of_session, plane);
                continue;
            }
            let Some(session) = self.sessions.get_mut(&seid) else {
                continue;
            };
            let mut due: Vec<(u32, u32, Usage)> = Vec::new();
            for ((_, id, _), counters) in of_session {
                let Some(urr) = session.urrs.get_mut(id) else { continue };
                if urr.see(now, counters) {
                    self.changed.insert(seid);
                }
                let trigger = urr.due(now, counters);
                if trigger != 0 {
                    due.push((*id, trigger, **counters));
                }
            }
            if !due.is_empty() {
                self.report_session(now, seid, &due, plane);
            }
        }
    }

    /// Packets of used-up quotas stop, also when that cannot be reported yet.
    fn stop_used_up(
        &mut self,
        now: Duration,
        seid: u64,
        read: &[(&(u64, u32, u32), &Usage)],
        plane: &mut dyn UserPlane,
    ) {
        let Some(session) = self.sessions.get_mut(&seid) else {
            return;
        };
        let mut used_up: Vec<u32> = Vec::new();
        for ((_, id, _), counters) in read {
            let Some(urr) = session.urrs.get_mut(id) else { continue };
            if urr.see(now, counters) {
                self.changed.insert(seid);
            }
            if urr.is_used_up(now, counters) {
                used_up.push(*id);
            }
        }
        if used_up.is_empty() {
            return;
        }
        let before = session.clone();
        for id in used_up {
            session.urrs.entry(id).and_modify(Urr::stop);
        }
        if let Err(refusal) = plane.change(Some(&before), Some(session)) {
            self.events.push_back(Event::PlaneFailed(refusal.to_string()));
        }
        self.changed.insert(seid);
    }

    fn report_session(&mut self, now: Duration, seid: u64, due: &[(u32, u32, Usage)], plane: &mut dyn UserPlane) {
        let Some(session) = self.sessions.get_mut(&seid) else {
            return;
        };
        let before = session.clone();
        let mut reports = Vec::new();
        for (id, trigger, counters) in due {
            if let Some(urr) = session.urrs.get_mut(id) {
                let report = urr.report_due(*trigger, now, *counters);
                reports.extend(report.map(|report| content(&report)));
            }
        }
        session.reports.extend_from_slice(&reports);
        // Packets of a used-up quota are dropped from now on.
        if before
            .urrs
            .values()
            .zip(session.urrs.values())
            .any(|(old, new)| old.measured.is_exhausted != new.measured.is_exhausted)
            && let Err(refusal) = plane.change(Some(&before), Some(session))
        {
            self.events.push_back(Event::PlaneFailed(refusal.to_string()));
        }
        self.changed.insert(seid);
        if !reports.is_empty() {
            self.send_usage(now, seid, reports);
        }
    }

    fn send_usage(&mut self, now: Duration, seid: u64, reports: Vec<Vec<u8>>) {
        let mut elements = Writer::default();
        elements.u8_element(kind::REPORT_TYPE, USAGE);
        for report in &reports {
            elements.element(kind::USAGE_REPORT, |element| element.bytes(report));
        }
        let purpose = Purpose::Usage { seid, reports };
        self.report(now, seid, purpose, |request| request.bytes(elements.as_bytes()));
    }

    /// Repeats reports that were not acknowledged, to SMFs that are reachable.
    fn report_again(&mut self, now: Duration) {
        for seid in std::mem::take(&mut self.unreported) {
            // Another request may have brought them meanwhile.
            let Some(session) = self.sessions.get(&seid).filter(|session| !session.reports.is_empty()) else {
                continue;
            };
            if !self.may_request() || !self.is_reachable(session) {
                self.unreported.insert(seid);
                continue;
            }
            let reports = session.reports.clone();
            self.send_usage(now, seid, reports);
        }
    }

    /// Packets for the UE of a session are being kept: notifies the SMF, once until the rules of the session change.
    pub fn downlink_data(&mut self, now: Duration, seid: u64, pdr: u16) {
        let Some(session) = self.sessions.get(&seid) else {
            return;
        };
        let rule = session.pdrs.get(&pdr);
        let far = rule.and_then(|pdr| session.far_of(pdr));
        let mut qers = rule
            .iter()
            .flat_map(|pdr| &pdr.qers)
            .filter_map(|id| session.qers.get(id));
        let qfi = qers.find_map(|qer| qer.qfi.filter(|qfi| *qfi != 0));
        let is_wanted = far.is_some_and(|far| far.buffers() && far.notifies());
        if !is_wanted || !self.may_request() || !self.notified.insert((seid, pdr)) {
            return;
        }
        self.report(now, seid, Purpose::Notification { seid, pdr }, |request| {
            request.u8_element(kind::REPORT_TYPE, DOWNLINK_DATA);
            request.element(kind::DOWNLINK_DATA_REPORT, |report| {
                report.u16_element(kind::PDR_ID, pdr);
                if let Some(qfi) = qfi {
                    report.element(kind::DOWNLINK_DATA_SERVICE_INFORMATION, |value| value.bytes(&[2, qfi]));
                }
            });
        });
    }

    /// The peer of a tunnel does not know it (any more).
    pub fn error_indication(&mut self, now: Duration, tunnel: &OuterHeader) {
        let Some(seid) = self.tunnels.get(tunnel).copied() else {
            return;
        };
        let is_told = |one: &super::Pending| matches!(one.purpose, Purpose::Error { seid: told } if told == seid);
        if !self.may_request() || self.pending.values().any(is_told) {
            return;
        }
        let remote = FTeid::Given {
            teid: tunnel.teid,
            addresses: Addresses::from(tunnel.peer),
        };
        self.report(now, seid, Purpose::Error { seid }, |request| {
            request.u8_element(kind::REPORT_TYPE, ERROR_INDICATION);
            request.element(kind::ERROR_INDICATION_REPORT, |report| {
                report.element(kind::F_TEID, |value| remote.write(value));
            });
        });
    }

    fn report(&mut self, now: Duration, seid: u64, purpose: Purpose, elements: impl FnOnce(&mut Writer)) {
        let Some(session) = self.sessions.get(&seid) else {
            return;
        };
        let Some(to) = address_of(session.peer.addresses, self.settings.address) else {
            return;
        };
        let kind = (MessageType::SessionReportRequest, Some(session.peer.seid));
        self.request(now, to, kind, purpose, elements);
    }
}

/// A Usage Report, as an element of this type (§7.5.5.2, §7.5.7.2, §7.5.8.3).
pub(super) fn write(writer: &mut Writer, kind_of_report: u16, report: &Report) {
    writer.element(kind_of_report, |element| element.bytes(&content(report)));
}

/// What a Usage Report holds, which is the same in elements of all types.
fn content(report: &Report) -> Vec<u8> {
    let mut element = Writer::default();
    element.u32_element(kind::URR_ID, report.urr);
    element.u32_element(kind::UR_SEQN, report.sequence);
    element.element(kind::USAGE_REPORT_TRIGGER, |value| {
        value.bytes(&report.trigger.to_le_bytes()[..3])
    });
    if report.trigger != triggers::START {
        write_measurement(&mut element, report);
    }
    element.into_bytes()
}

fn write_measurement(element: &mut Writer, report: &Report) {
    element.u32_element(kind::START_TIME, truncated_ntp(report.began));
    element.u32_element(kind::END_TIME, truncated_ntp(report.ended));
    if let Some(volume) = &report.volume {
        element.element(kind::VOLUME_MEASUREMENT, |value| {
            volume.write_measurement(value, report.with_packets)
        });
    }
    if let Some(duration) = report.duration {
        element.u32_element(kind::DURATION_MEASUREMENT, duration);
    }
}
