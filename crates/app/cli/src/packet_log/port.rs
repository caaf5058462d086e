//! Ports whose packets are logged, and the polls of a switch between them.

use super::{Narrator, PacketLog};
use forebay_daemon::OwnPoll;
use forebay_packet::{Burst, Port, PortError, delegate_port};
use forebay_pipeline::Pipeline;
use forebay_switch::{Activity, Switch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Lets one port after the other deliver a packet, one in each poll of the switch.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    turn: Arc<AtomicUsize>,
    is_paused: Arc<AtomicBool>,
    ports: usize,
}

/// Polls in a row in which no port delivers, at most: a program may let a packet go round for ever.
const PAUSE_MAX: u32 = 1_000;

impl Turns {
    /// For this number of ports.
    pub fn new(ports: usize) -> Turns {
        Turns {
            ports,
            ..Turns::default()
        }
    }

    /// A poll begins: it is the next port's turn, or no port's while a packet goes round, which has been so for
    /// `rounds` polls.
    pub fn begin(&self, rounds: u32) {
        let is_paused = (1..=PAUSE_MAX).contains(&rounds);
        self.is_paused.store(is_paused, Ordering::Relaxed);
        if is_paused {
            return;
        }
        let turn = self.turn.load(Ordering::Relaxed) + 1;
        self.turn.store(turn % self.ports.max(1), Ordering::Relaxed);
    }

    /// Whether it is the turn of the port at this place.
    pub fn is_of(&self, place: usize) -> bool {
        !self.is_paused.load(Ordering::Relaxed) && self.turn.load(Ordering::Relaxed) == place
    }
}

/// Counts polls in a row after which a packet goes round.
pub fn rounds(before: u32, goes_round: bool) -> u32 {
    if goes_round { before.saturating_add(1) } else { 0 }
}

/// Polls a switch so that every packet's way is logged.
pub struct NarratedPoll {
    narrator: Narrator,
    turns: Turns,
    rounds: u32,
}

impl NarratedPoll {
    /// Polls by these turns, and logs by this narrator.
    pub fn new(narrator: Narrator, turns: Turns) -> NarratedPoll {
        NarratedPoll {
            narrator,
            turns,
            rounds: 0,
        }
    }
}

impl OwnPoll for NarratedPoll {
    fn poll(&mut self, switch: &mut Switch, now_ns: u64) -> Activity {
        if self.narrator.log().is_behind() {
            // Packets stay in their ports until the log has been read. No table is pinned meanwhile.
            return Activity::default();
        }
        self.turns.begin(self.rounds);
        let activity = switch.poll(now_ns, &mut self.narrator);
        self.rounds = rounds(self.rounds, self.narrator.goes_round() && !activity.is_idle());
        if activity.is_idle() {
            self.narrator.log().flush();
        }
        activity
    }

    fn replace(&mut self, switch: &mut Switch, pipeline: Arc<Pipeline>, now_ns: u64) {
        switch.replace_pipeline(Arc::clone(&pipeline), now_ns, &mut self.narrator);
        self.narrator.replace(pipeline);
    }
}

/// A port that logs what it receives and sends, and receives a packet only when it is its turn.
pub struct LoggedPort {
    port: Box<dyn Port>,
    number: u32,
    log: PacketLog,
    turns: Turns,
    place: usize,
}

impl LoggedPort {
    /// Wraps the port with this P4 number; `place` is its place among all ports.
    pub fn new(port: Box<dyn Port>, number: u32, log: PacketLog, turns: Turns, place: usize) -> LoggedPort {
        LoggedPort {
            port,
            number,
            log,
            turns,
            place,
        }
    }
}

impl Port for LoggedPort {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        if !self.turns.is_of(self.place) {
            return Ok(0);
        }
        let before = burst.len();
        let received = self.port.receive(burst, max.min(1), now_ns);
        for packet in &burst.as_slice()[before..] {
            self.log.arrived(self.number, packet.data());
        }
        received
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        for packet in burst.as_slice() {
            self.log.dump("Sending", self.number, packet.data());
        }
        self.port.send(burst, now_ns)
    }

    delegate_port!(port: counters, state, why_down, readiness, room, reads_ids, is_timer, begin_last_round, flush);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_delivers_while_a_packet_goes_round_but_not_for_ever() {
        let turns = Turns::new(2);
        turns.begin(0);
        assert!(turns.is_of(1));
        for polls in 1..=PAUSE_MAX {
            turns.begin(rounds(polls - 1, true));
            assert!(!turns.is_of(0) && !turns.is_of(1));
        }
        turns.begin(rounds(PAUSE_MAX, true));
        assert!(turns.is_of(0));
        assert_eq!(rounds(3, false), 0);
    }
}
