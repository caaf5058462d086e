//! Requests of this side: sent again until they are answered (§6.4).

use super::{Counters, Event, Node, SEQUENCE_MAX, UserPlane};
use crate::wire::{Cause, Elements, Header, MessageType, NodeId, Refusal, Writer, kind};
use std::net::SocketAddr;
use std::time::Duration;

/// What a request is about.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// Whether a peer is there.
    Heartbeat(NodeId),
    /// Packets wait for a UE.
    Notification { seid: u64, pdr: u16 },
    /// Usage, by these reports of the session.
    Usage { seid: u64, reports: Vec<Vec<u8>> },
    /// An error of a tunnel.
    Error { seid: u64 },
    /// A path to a GTP-U peer.
    Path,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) to: SocketAddr,
    bytes: Vec<u8>,
    attempts: u32,
    next: Duration,
    pub(super) purpose: Purpose,
}

/// Requests that may wait for an answer.
pub(super) const PENDING_MAX: usize = 1024;

impl Node {
    /// Sends a request, and again every T1 until N1 have been sent.
    pub(super) fn request(
        &mut self,
        now: Duration,
        to: SocketAddr,
        (message, seid): (MessageType, Option<u64>),
        purpose: Purpose,
        elements: impl FnOnce(&mut Writer),
    ) {
        let sequence = self.choose_sequence();
        let bytes = Header {
            message,
            seid,
            sequence,
        }
        .message(elements);
        self.send(to, bytes.clone());
        let pending = Pending {
            to,
            bytes,
            attempts: 1,
            next: now + self.settings.retry,
            purpose,
        };
        self.pending.insert(sequence, pending);
    }

    /// A number that no request without an answer has.
    fn choose_sequence(&mut self) -> u32 {
        loop {
            self.next_sequence = self.next_sequence % SEQUENCE_MAX + 1;
            if !self.pending.contains_key(&self.next_sequence) {
                return self.next_sequence;
            }
        }
    }

    /// Whether there is room for another request.
    pub(super) fn may_request(&self) -> bool {
        self.pending.len() < PENDING_MAX
    }

    /// Repeats requests that are due, and gives up those that have reached the limit of attempts.
    pub(super) fn retransmit(&mut self, now: Duration) {
        let due = self.pending.iter().filter(|(_, pending)| pending.next <= now);
        let due: Vec<u32> = due.map(|(sequence, _)| *sequence).collect();
        for sequence in due {
            let Some(pending) = self.pending.get_mut(&sequence) else {
                continue;
            };
            if pending.attempts < self.settings.attempts {
                pending.attempts += 1;
                pending.next = now + self.settings.retry;
                let (to, bytes) = (pending.to, pending.bytes.clone());
                self.counters.retransmissions += 1;
                self.send(to, bytes);
            } else if let Some(pending) = self.pending.remove(&sequence) {
                self.give_up(now, pending);
            }
        }
    }

    fn give_up(&mut self, now: Duration, pending: Pending) {
        self.counters.unanswered += 1;
        match pending.purpose {
            Purpose::Heartbeat(node) => self.lose(now, &node),
            Purpose::Notification { seid, pdr } => {
                self.notified.remove(&(seid, pdr));
            }
            Purpose::Usage { seid, reports } => {
                self.counters.reports_kept += reports.len() as u64;
                self.unreported.insert(seid);
            }
            Purpose::Error { .. } | Purpose::Path => {}
        }
    }

    /// An answer: its request is done.
    pub(super) fn answered(
        &mut self,
        now: Duration,
        from: SocketAddr,
        header: &Header,
        elements: Elements<'_>,
        plane: &mut dyn UserPlane,
    ) {
        let is_asked = |sequence| self.pending.get(&sequence).is_some_and(|one| one.to.ip() == from.ip());
        if !is_asked(header.sequence) {
            Counters::count(&mut self.counters.unexpected);
            return;
        }
        let Some(pending) = self.pending.remove(&header.sequence) else {
            return;
        };
        let cause = elements.optional::<u8>(kind::CAUSE).ok().flatten();
        match pending.purpose {
            Purpose::Heartbeat(node) => self.heard(now, &node, elements, plane),
            Purpose::Usage { seid, reports } => {
                self.delivered(seid, &reports);
                self.report_answered(seid, cause, elements, plane);
            }
            Purpose::Notification { seid, .. } | Purpose::Error { seid } => {
                self.report_answered(seid, cause, elements, plane);
            }
            Purpose::Path => {}
        }
    }

    /// The SMF has these reports.
    fn delivered(&mut self, seid: u64, reports: &[Vec<u8>]) {
        if let Some(session) = self.sessions.get_mut(&seid) {
            session.reports.retain(|report| !reports.contains(report));
            self.changed.insert(seid);
        }
    }

    fn report_answered(&mut self, seid: u64, cause: Option<u8>, elements: Elements<'_>, plane: &mut dyn UserPlane) {
        if cause == Some(Cause::SessionContextNotFound as u8) {
            // The SMF has lost the session: it ends here, too (§7.5.9).
            self.end_session(seid, plane);
            self.events.push_back(Event::SessionUnknownToPeer(seid));
            return;
        }
        let flags = elements.flags(kind::PFCPSRRSP_FLAGS).ok().flatten().unwrap_or(0);
        if flags & 1 != 0
            && let Some(session) = self.sessions.get(&seid)
        {
            plane.drop_buffered(session);
            // The next packet is the first one that waits.
            self.notified.retain(|(notified, _)| *notified != seid);
        }
    }

    /// A refusal for the log.
    pub(super) fn refuse(&mut self, from: SocketAddr, refusal: &Refusal) {
        self.counters.refused += 1;
        self.events.push_back(Event::Refused {
            peer: from,
            why: refusal.to_string(),
        });
    }
}
