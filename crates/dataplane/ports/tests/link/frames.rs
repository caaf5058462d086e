//! Frames that are known again, and carrying them between two ports.

use std::time::{Duration, Instant};

use forebay_packet::{Burst, Port, PortState};
use forebay_ports::{OpenOptions, PortSpec, open};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Frames on their way at a time.
pub const WINDOW: u32 = 32;

/// Opens a port.
pub fn port(text: &str) -> Box<dyn Port> {
    let spec = PortSpec::parse(&format!("0@{text}")).unwrap_or_else(|error| panic!("{error}"));
    let opened = open(&spec, &OpenOptions::default());
    opened.unwrap_or_else(|error| panic!("{text}: {error}")).port
}

/// A frame with its number, and bytes that follow from it; 60 to `longest` bytes.
pub fn numbered(number: u32, longest: usize) -> Vec<u8> {
    let length = 60 + (number.wrapping_mul(2_654_435_761) >> 7) as usize % (longest - 59);
    let mut frame = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5".to_vec();
    frame.extend(number.to_be_bytes());
    frame.extend((frame.len()..length).map(|at| (at as u32 ^ number) as u8));
    frame
}

/// Polls ports until `is_done`.
pub fn poll_until(ports: &mut [&mut dyn Port], what: &str, is_done: impl Fn(&[&mut dyn Port]) -> bool) {
    let (started, mut burst) = (Instant::now(), Burst::new(WINDOW as usize));
    while !is_done(ports) {
        assert!(started.elapsed() < PATIENCE, "{what}");
        for port in ports.iter_mut() {
            port.receive(&mut burst, WINDOW as usize, 0)
                .expect("a port is in order");
            burst.clear();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until ports carry packets.
pub fn wait_up(ports: &mut [&mut dyn Port]) {
    let is_up = |ports: &[&mut dyn Port]| ports.iter().all(|port| port.state() == PortState::Up);
    poll_until(ports, "the ports do not come up", is_up);
    // A client of memif gives buffers for what it receives when it looks for frames, for the first time after it is up.
    for port in ports {
        port.receive(&mut Burst::new(1), 1, 0).expect("a port is in order");
    }
}

/// Waits until a port carries no packets.
pub fn wait_down(port: &mut dyn Port) {
    poll_until(&mut [port], "the port stays up", |ports| {
        ports[0].state() == PortState::Down
    });
}

/// Sends a window of frames.
pub fn send(port: &mut dyn Port, first: u32, longest: usize) {
    let mut burst = Burst::new(WINDOW as usize);
    for number in first..first + WINDOW {
        let packet = burst.allocate().expect("the burst is large enough");
        packet.set_data(&numbered(number, longest));
    }
    assert_eq!(port.send(&mut burst, 0), Ok(WINDOW as usize), "{}", port.counters());
}

/// Takes what comes from `expected` on; returns the number that is expected next.
pub fn receive(port: &mut dyn Port, mut expected: u32, longest: usize) -> u32 {
    let mut burst = Burst::new(WINDOW as usize);
    port.receive(&mut burst, WINDOW as usize, 0)
        .expect("the port is in order");
    let ours = |data: &[u8]| data.get(12..14) == Some(&[0x88, 0xb5]);
    for packet in burst.iter().filter(|packet| ours(packet.data())) {
        assert!(
            packet.data() == numbered(expected, longest),
            "frame {expected} of {}",
            port.name()
        );
        expected += 1;
    }
    expected
}

/// Sends frames both ways, and expects all of them, unchanged and in order.
pub fn exchange(left: &mut dyn Port, right: &mut dyn Port, frames: u32, longest: usize) {
    for first in (0..frames).step_by(WINDOW as usize) {
        send(left, first, longest);
        send(right, first, longest);
        let (mut at_left, mut at_right) = (first, first);
        let started = Instant::now();
        while at_left.min(at_right) < first + WINDOW {
            at_left = receive(left, at_left, longest);
            at_right = receive(right, at_right, longest);
            assert!(
                started.elapsed() < PATIENCE,
                "{at_left} and {at_right} of {frames} came"
            );
        }
    }
}

/// Waits until a peer sends back what it gets, and until all of that has come. A peer that configures its device may
/// take frames before, and lose them. The frames are not counted by [`receive`]. Returns what was dropped until then.
pub fn wait_echo(port: &mut dyn Port) -> u64 {
    let (started, mut burst) = (Instant::now(), Burst::new(WINDOW as usize));
    let (mut last, mut is_echoed) = (Instant::now(), false);
    while !is_echoed || last.elapsed() < Duration::from_millis(200) {
        assert!(started.elapsed() < PATIENCE, "nothing comes back: {}", port.counters());
        if !is_echoed {
            burst.allocate().expect("the burst is empty").set_data(&[0; 60]);
            port.send(&mut burst, 0).expect("the port is in order");
        }
        std::thread::sleep(Duration::from_millis(10));
        if port
            .receive(&mut burst, WINDOW as usize, 0)
            .expect("the port is in order")
            > 0
        {
            (last, is_echoed) = (Instant::now(), true);
        }
        burst.clear();
    }
    port.counters().total_drops()
}

/// Sends frames by a port whose peer sends them back, and expects all of them, unchanged and in order.
pub fn echo(port: &mut dyn Port, frames: u32, longest: usize) {
    for first in (0..frames).step_by(WINDOW as usize) {
        send(port, first, longest);
        let (mut next, started) = (first, Instant::now());
        while next < first + WINDOW {
            next = receive(port, next, longest);
            assert!(
                started.elapsed() < PATIENCE,
                "{next} of {frames} came back: {}",
                port.counters()
            );
        }
    }
}
