//! Trials with ports that lose and refuse frames.

use super::*;
use crate::device;
use crate::frames::Frames;
use crate::impairment::{Delay, Impairment};
use crate::results::TrialResults;
use crate::schedule::{Arrivals, Shape};
use crate::stream::Rate;
use forebay_packet::{MemoryPort, Port, PortState, delegate_port};
use std::sync::{Arc, Mutex};

/// What becomes of a frame that is sent.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Sent,
    Refused,
    Lost,
}

/// A port that takes one frame at once, and decides by its number what becomes of it.
struct Fickle {
    port: Box<dyn Port>,
    sent: u64,
    fate: fn(u64) -> Fate,
}

impl Port for Fickle {
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let fate = (self.fate)(self.sent);
        let count = burst.len();
        self.sent += count as u64;
        match fate {
            Fate::Sent => self.port.send(burst, now_ns),
            Fate::Refused | Fate::Lost => {
                burst.clear();
                Ok(if fate == Fate::Lost { count } else { 0 })
            }
        }
    }

    delegate_port!(
        port: name, receive, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush
    );
}

fn streams() -> [Stream; 1] {
    [Stream {
        name: "a".to_string(),
        from: 1,
        to: Some(2),
        frames: Arc::new(Frames::in_turn(vec![vec![0; 60]])),
        rate: Rate::Frames(1e6),
        arrivals: Arrivals::Constant,
        shape: Shape::flat(),
        messages: None,
    }]
}

const PLAN: Plan = Plan {
    scale: 1.0,
    warm_up_ns: 10_000,
    duration_ns: 90_000,
    drain_ns: 10_000,
    burst: 1,
    disturbance_ns: 100_000,
    sample_ns: 1_000_000,
    seed: 1,
    number: 1,
    step: None,
};

/// A hundred frames, a microsecond apart, of which the first ten are not measured.
fn trial(is_checked: bool, fate: fn(u64) -> Fate) -> Trial {
    let streams = streams();
    let (ports, pairs) = ([1, 2], [(1, 2)]);
    let reference = Reference::of_wire(&ports, &pairs, &streams).expect("frames with tags");
    let mut device = device::wire(&ports, &pairs, 4096).in_simulated_time();
    let spare: Box<dyn Port> = Box::new(MemoryPort::loopback("spare", 1));
    let port = std::mem::replace(&mut device.ports[0].port, spare);
    device.ports[0].port = Box::new(Fickle { port, sent: 0, fate });
    let reference = Some(&reference).filter(|_| is_checked);
    let mut clock = Clock::Simulated(0);
    run_trial(&streams, &mut device, reference, PLAN, &mut clock, &mut Silent).expect("a wire")
}

/// A port that loses its link after some frames.
struct Unplugged {
    port: Box<dyn Port>,
    left: u64,
}

impl Port for Unplugged {
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        self.left = self.left.saturating_sub(burst.len() as u64);
        self.port.send(burst, now_ns)
    }

    fn state(&self) -> PortState {
        if self.left == 0 { PortState::Down } else { PortState::Up }
    }

    delegate_port!(port: name, receive, counters, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush);
}

/// Frames that cannot be sent are no loss, so nothing else says that there was no device.
#[test]
fn a_port_that_loses_its_link_is_told() {
    let streams = streams();
    let trial = |left| {
        let mut device = device::wire(&[1, 2], &[(1, 2)], 4096).in_simulated_time();
        let spare: Box<dyn Port> = Box::new(MemoryPort::loopback("spare", 1));
        let port = std::mem::replace(&mut device.ports[0].port, spare);
        device.ports[0].port = Box::new(Unplugged { port, left });
        let mut clock = Clock::Simulated(0);
        let mut trial = run_trial(&streams, &mut device, None, PLAN, &mut clock, &mut Silent).expect("a wire");
        TrialResults::new(&streams, &[1, 2], &mut trial, None)
    };
    let whole = trial(1_000);
    assert!(whole.is_perfect() && whole.lost_links.is_empty());
    let cut = trial(50);
    assert_eq!(cut.lost_links, [1]);
    assert!(!cut.is_perfect());
    let why = cut.why_void("test").expect("a reason");
    assert!(
        why.starts_with("no link at port 1") && cut.doubts.contains(&why),
        "{why}"
    );
    // A port that never had one, as a TAP that nothing has opened, is as it was.
    assert!(trial(0).lost_links.is_empty());
}

/// Stops a trial when some frames were sent.
struct Stops;

impl Progress for Stops {
    fn at(&mut self, _share: f64, sent: u64, _received: u64) -> bool {
        sent < 1_000
    }
}

#[test]
fn frames_under_way_when_a_trial_is_stopped_are_not_lost() {
    let mut device = device::wire(&[1, 2], &[(1, 2)], 4096).in_simulated_time();
    let impairment = Impairment {
        delay: Delay::Constant(50_000.0),
        ..Impairment::default()
    };
    device.impair(2, impairment, 1);
    let plan = Plan {
        duration_ns: 10_000_000,
        drain_ns: 1_000_000,
        ..PLAN
    };
    let mut clock = Clock::Simulated(0);
    let trial = run_trial(&streams(), &mut device, None, plan, &mut clock, &mut Stops).expect("a wire");
    let (_, sent, path) = &trial.streams[0].paths[0];
    assert!(trial.was_stopped && (1_000..9_000).contains(sent), "{sent}");
    assert_eq!(path.sequence.unique(), *sent);
}

#[test]
fn refused_frames_are_neither_lost_nor_do_they_hide_losses() {
    for is_checked in [false, true] {
        let trial = trial(is_checked, |number| match number {
            2..8 | 50..54 => Fate::Refused,
            20..23 => Fate::Lost,
            _ => Fate::Sent,
        });
        let found = &trial.streams[0];
        let (_, expected, path) = &found.paths[0];
        assert_eq!((found.sent.frames, found.sent.bytes, found.refused), (86, 86 * 60, 4));
        assert_eq!(
            found.samples,
            [(90, 87)],
            "with those of the warm-up, of which 6 were refused"
        );
        assert_eq!((*expected, path.sequence.unique()), (86, 83), "{is_checked}");
        assert_eq!((path.gaps.missing(), path.gaps.last_until_ns()), (3, Some(23_000)));
    }
}

/// A port that takes short frames alone, wherever they are in a burst.
struct Narrow {
    port: Box<dyn Port>,
}

impl Port for Narrow {
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        burst.retain(|packet| packet.len() <= 100);
        self.port.send(burst, now_ns)
    }

    delegate_port!(
        port: name, receive, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush
    );
}

/// As many frames are sent as come back, and those that the port refused are the long ones.
#[test]
fn refused_frames_in_the_middle_of_bursts_are_known() {
    for is_checked in [false, true] {
        let [stream] = streams();
        let streams = [Stream {
            frames: Arc::new(Frames::in_turn(vec![vec![0; 60], vec![0; 200]])),
            arrivals: Arrivals::Bursts(8),
            ..stream
        }];
        let (ports, pairs) = ([1, 2], [(1, 2)]);
        let reference = Reference::of_wire(&ports, &pairs, &streams).expect("frames with tags");
        let mut device = device::wire(&ports, &pairs, 4096).in_simulated_time();
        let spare: Box<dyn Port> = Box::new(MemoryPort::loopback("spare", 1));
        let port = std::mem::replace(&mut device.ports[0].port, spare);
        device.ports[0].port = Box::new(Narrow { port });
        let plan = Plan { burst: 8, ..PLAN };
        let reference = Some(&reference).filter(|_| is_checked);
        let mut clock = Clock::Simulated(0);
        let trial = run_trial(&streams, &mut device, reference, plan, &mut clock, &mut Silent).expect("a wire");
        let found = &trial.streams[0];
        let (_, expected, path) = &found.paths[0];
        let came = path.sequence.unique();
        assert!(came > 30 && found.refused > 30, "{came} {}", found.refused);
        assert_eq!((found.sent.frames, *expected), (came, came), "{is_checked}");
        assert_eq!(found.sent.bytes, came * 60, "{is_checked}");
    }
}

/// A port that has no room for the second half of its first burst, and notes how many frames come at once.
struct Full {
    port: Box<dyn Port>,
    sends: Arc<Mutex<Vec<usize>>>,
}

impl Port for Full {
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let mut sends = self.sends.lock().expect("no panic");
        sends.push(burst.len());
        if sends.len() == 1 {
            burst.truncate(burst.len() / 2);
        }
        self.port.send(burst, now_ns)
    }

    delegate_port!(
        port: name, receive, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush
    );
}

/// One by one the rate may not be reached, so a port that has had no room once gets bursts again.
#[test]
fn a_port_without_room_for_a_moment_gets_bursts_again() {
    let [stream] = streams();
    let streams = [Stream {
        frames: Arc::new(Frames::in_turn(vec![vec![0; 60], vec![0; 200]])),
        arrivals: Arrivals::Bursts(8),
        ..stream
    }];
    let mut device = device::wire(&[1, 2], &[(1, 2)], 4096).in_simulated_time();
    let spare: Box<dyn Port> = Box::new(MemoryPort::loopback("spare", 1));
    let port = std::mem::replace(&mut device.ports[0].port, spare);
    let sends = Arc::new(Mutex::new(Vec::new()));
    device.ports[0].port = Box::new(Full {
        port,
        sends: Arc::clone(&sends),
    });
    let plan = Plan { burst: 8, ..PLAN };
    let mut clock = Clock::Simulated(0);
    run_trial(&streams, &mut device, None, plan, &mut clock, &mut Silent).expect("a wire");
    let sends = sends.lock().expect("no panic");
    let (singly, behind) = sends[1..].split_at(SINGLY);
    assert!(
        sends[0] == 8 && singly.iter().all(|count| *count == 1) && behind.contains(&8),
        "{sends:?}"
    );
}

#[test]
fn counters_of_a_switch_that_was_started_again_begin_anew() {
    let counts = |counts: &[(&str, u64)]| -> Vec<(String, u64)> {
        let counts = counts.iter();
        counts.map(|(label, count)| (label.to_string(), *count)).collect()
    };
    let found = since(&counts(&[("a", 5), ("b", 7)]), counts(&[("a", 3), ("b", 7), ("c", 1)]));
    assert_eq!(found, counts(&[("a", 3), ("c", 1)]));
}

#[test]
fn a_sender_whose_frames_are_refused_is_late() {
    let is_late = |fate: fn(u64) -> Fate| {
        let mut trial = trial(false, fate);
        TrialResults::new(&streams(), &[1, 2], &mut trial, None).is_late()
    };
    assert!(!is_late(|number| if number < 20 { Fate::Refused } else { Fate::Sent }));
    assert!(is_late(|number| if number < 30 { Fate::Refused } else { Fate::Sent }));
}
