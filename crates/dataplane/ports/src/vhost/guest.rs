//! A well-behaved guest in a test: it sets rings up, offers buffers, and looks what becomes of them.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use forebay_packet::{Burst, DropReason, Packet, PortCounters};

use super::VhostLink;
use super::memory::RegionInfo;
use super::message::{EventKind, Request};
use super::options::VhostOptions;
use super::ring::Addresses;
use super::session::{Answer, Session};
use crate::link::{Fault, ReceiveQueue, SendQueue};
use crate::system::event::Event;
use crate::system::shared::SharedMemory;
use std::sync::atomic::Ordering;

const START: u64 = 0x10_0000;
const MEMORY: usize = 1 << 20;
const SIZE: u16 = 16;
const BUFFERS_AT: usize = 0x1_0000;
const BUFFER: usize = 256;
const TO_GUEST: u32 = 0;
const FROM_GUEST: u32 = 1;
const MERGEABLE: u64 = 1 << 15;
const INDIRECT: u64 = 1 << 28;
const VERSION_1: u64 = 1 << 32;
const HEADER: usize = 12;

struct Guest {
    link: Arc<VhostLink>,
    session: Session,
    memory: SharedMemory,
    file: OwnedFd,
    calls: Vec<Event>,
    counters: PortCounters,
}

/// Where a split ring's three parts lie.
fn ring_at(ring: u32) -> [usize; 3] {
    let at = ring as usize * 0x3000;
    [at, at + 0x1000, at + 0x2000]
}

impl Guest {
    fn new(features: u64) -> Guest {
        let link = VhostLink::new(1, 1, Arc::new(Event::new().expect("an event"))).expect("a link");
        let link = Arc::new(link);
        let (memory, file) = SharedMemory::create("guest", MEMORY).expect("memory");
        let mut guest = Guest {
            session: Session::new(&VhostOptions::new("test"), Arc::clone(&link)),
            link,
            memory,
            file,
            calls: Vec::new(),
            counters: PortCounters::default(),
        };
        guest.ask(Request::SetFeatures(features | VERSION_1));
        guest.share_memory();
        guest.set_up_rings(0);
        guest
    }

    fn ask(&mut self, request: Request) -> Answer {
        self.session.answer(request, Vec::new()).expect("a right request")
    }

    fn share_memory(&mut self) {
        let region = RegionInfo {
            guest_address: START,
            bytes: MEMORY as u64,
            user_address: START,
            file_offset: 0,
        };
        let file = self.file.as_fd().try_clone_to_owned().expect("a copy");
        let shared = self.session.answer(Request::SetMemoryTable(vec![region]), vec![file]);
        shared.expect("a right table");
    }

    fn set_up_rings(&mut self, base: u32) {
        self.calls.clear();
        for ring in [TO_GUEST, FROM_GUEST] {
            let [descriptors, driver, device] = ring_at(ring).map(|at| START + at as u64);
            self.ask(Request::SetRingSize {
                ring,
                size: SIZE.into(),
            });
            let addresses = Addresses {
                descriptors,
                driver,
                device,
            };
            self.ask(Request::SetRingAddresses { ring, addresses });
            self.ask(Request::SetRingBase { ring, base });
            for kind in [EventKind::Call, EventKind::Kick] {
                let event = Event::new().expect("an event");
                let file = event.as_fd().try_clone_to_owned().expect("a copy");
                let request = Request::SetRingEvent {
                    kind,
                    ring,
                    has_event: true,
                };
                self.session.answer(request, vec![file]).expect("a right event");
                if kind == EventKind::Call {
                    self.calls.push(event);
                }
            }
        }
    }

    fn buffer_at(ring: u32, index: u16) -> usize {
        BUFFERS_AT + (ring as usize * usize::from(SIZE) + usize::from(index)) * BUFFER
    }

    fn describe(&self, ring: u32, index: u16, (at, bytes): (usize, usize), flags: u64, next: u16) {
        let rest = bytes as u64 | flags << 32 | u64::from(next) << 48;
        let place = ring_at(ring)[0] + usize::from(index) * 16;
        self.memory.write_pair(place, [START + at as u64, rest]);
    }

    /// Makes the chain that begins with a descriptor available.
    fn offer(&self, ring: u32, head: u16) {
        let driver = ring_at(ring)[1];
        let index = self.memory.word16(driver + 2);
        let position = index.load(Ordering::Relaxed);
        let entry = driver + 4 + usize::from(position % SIZE) * 2;
        self.memory.word16(entry).store(head, Ordering::Relaxed);
        index.store(position.wrapping_add(1), Ordering::Release);
    }

    fn used(&self, ring: u32) -> u16 {
        self.memory.word16(ring_at(ring)[2] + 2).load(Ordering::Acquire)
    }

    fn receive(&mut self) -> Result<Vec<Vec<u8>>, Fault> {
        self.receive_up_to(64)
    }

    fn receive_up_to(&mut self, max: usize) -> Result<Vec<Vec<u8>>, Fault> {
        let mut burst = Burst::new(64);
        let mut receiver = self.link.set_receiver(0, None).expect("the ring works");
        let result = receiver.receive(&mut burst, max, 5, &mut self.counters);
        self.link.set_receiver(0, Some(receiver));
        result.map(|_| burst.iter().map(|packet| packet.data().to_vec()).collect())
    }

    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, Fault> {
        let packets: Vec<Packet> = frames.iter().map(|frame| Packet::from_bytes(frame)).collect();
        let mut sender = self.link.set_sender(0, None).expect("the ring works");
        let result = sender.send(&packets, &mut self.counters);
        self.link.set_sender(0, Some(sender));
        result
    }

    fn bytes(&self, at: usize, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.memory.copy_out(at, &mut bytes);
        bytes
    }
}

#[test]
fn frames_come_out_of_one_buffer_or_several() {
    let mut guest = Guest::new(INDIRECT);
    let frame: Vec<u8> = (0..100).collect();
    // Header and frame in one buffer.
    let first = Guest::buffer_at(FROM_GUEST, 0);
    guest.memory.copy_in(first + HEADER, &frame);
    guest.describe(FROM_GUEST, 0, (first, HEADER + 100), 0, 0);
    guest.offer(FROM_GUEST, 0);
    // A header by itself, and a frame in two pieces.
    let second = Guest::buffer_at(FROM_GUEST, 1);
    guest.memory.copy_in(second, &frame);
    guest.describe(FROM_GUEST, 1, (second + 200, HEADER), 1, 2);
    guest.describe(FROM_GUEST, 2, (second, 30), 1, 3);
    guest.describe(FROM_GUEST, 3, (second + 30, 70), 0, 0);
    guest.offer(FROM_GUEST, 1);
    // The same by a table.
    let table = Guest::buffer_at(FROM_GUEST, 8);
    for (index, (at, bytes)) in [(second + 200, HEADER), (second, 100)].into_iter().enumerate() {
        let rest = bytes as u64 | if index == 0 { 1 << 32 | 1 << 48 } else { 0 };
        guest.memory.write_pair(table + index * 16, [START + at as u64, rest]);
    }
    guest.describe(FROM_GUEST, 4, (table, 32), 4, 0);
    guest.offer(FROM_GUEST, 4);
    assert_eq!(guest.receive(), Ok(vec![frame.clone(), frame.clone(), frame]));
    assert_eq!(guest.used(FROM_GUEST), 3);
    assert!(guest.calls[1].take(), "the guest wants to be told");
}

#[test]
fn long_frames_take_several_buffers_when_they_may() {
    let frame: Vec<u8> = (0..600).map(|at| at as u8).collect();
    for (features, sent) in [(MERGEABLE, 1), (0, 0)] {
        let mut guest = Guest::new(features);
        for index in 0..4 {
            guest.describe(TO_GUEST, index, (Guest::buffer_at(TO_GUEST, index), BUFFER), 2, 0);
            guest.offer(TO_GUEST, index);
        }
        assert_eq!(guest.send(&[&frame]), Ok(sent));
        if sent == 0 {
            assert_eq!(guest.counters.drops(DropReason::TooLong), 1);
            assert_eq!(guest.send(&[&frame[..200]]), Ok(1), "the buffers are still there");
            assert_eq!(guest.used(TO_GUEST), 1);
            continue;
        }
        assert_eq!(guest.used(TO_GUEST), 3);
        let at = Guest::buffer_at(TO_GUEST, 0);
        assert_eq!(guest.bytes(at + 10, 2), [3, 0], "the number of buffers");
        assert_eq!(guest.bytes(at + HEADER, 600), frame);
        let lengths: Vec<u8> = (0..3)
            .flat_map(|entry| guest.bytes(ring_at(TO_GUEST)[2] + 8 + entry * 8, 2))
            .collect();
        assert_eq!(lengths, [0, 1, 0, 1, 100, 0]);
        assert_eq!(guest.send(&[&frame]), Ok(0), "one buffer is left");
        assert_eq!(guest.counters.drops(DropReason::QueueFull), 1);
        assert_eq!(guest.send(&[&frame[..100]]), Ok(1));
    }
}

/// A super-frame of TCP with 150 bytes of payload, to be cut into segments of 100, and the header before it.
fn super_frame() -> ([u8; HEADER], Vec<u8>) {
    let mut frame = vec![0u8; 54 + 150];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[16..18].copy_from_slice(&190u16.to_be_bytes());
    (frame[22], frame[23], frame[46], frame[47]) = (64, 6, 0x50, 0x10);
    // What the addresses, which are zero, the protocol and the length of the segment sum up to.
    frame[50..52].copy_from_slice(&(6 + 170u16).to_be_bytes());
    let mut header = [0u8; HEADER];
    (header[0], header[1]) = (1, 1);
    header[2..4].copy_from_slice(&54u16.to_le_bytes());
    header[4..6].copy_from_slice(&100u16.to_le_bytes());
    header[6..8].copy_from_slice(&34u16.to_le_bytes());
    header[8..10].copy_from_slice(&16u16.to_le_bytes());
    (header, frame)
}

#[test]
fn a_super_frame_is_cut_and_a_checksum_completed() {
    let mut guest = Guest::new(1 << 11);
    let (header, frame) = super_frame();
    let at = Guest::buffer_at(FROM_GUEST, 0);
    guest.memory.copy_in(at, &header);
    guest.memory.copy_in(at + HEADER, &frame);
    guest.describe(FROM_GUEST, 0, (at, HEADER + frame.len()), 0, 0);
    guest.offer(FROM_GUEST, 0);
    let frames = guest.receive().expect("a right frame");
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [154, 104]);
}

#[test]
fn frames_have_up_to_65535_bytes() {
    let mut guest = Guest::new(0);
    for (index, bytes) in [65_535, 65_536].into_iter().enumerate() {
        guest.describe(FROM_GUEST, index as u16, (BUFFERS_AT, HEADER + bytes), 0, 0);
        guest.offer(FROM_GUEST, index as u16);
    }
    let lengths = guest
        .receive()
        .map(|frames| frames.iter().map(Vec::len).collect::<Vec<_>>());
    assert_eq!(lengths, Ok(vec![65_535]));
    assert_eq!(guest.counters.drops(DropReason::TooLong), 1);
}

#[test]
fn frames_that_are_dropped_do_not_keep_the_worker() {
    let mut guest = Guest::new(0);
    guest.describe(FROM_GUEST, 0, (BUFFERS_AT, 1), 0, 0);
    (0..10).for_each(|_| guest.offer(FROM_GUEST, 0));
    assert_eq!(guest.receive_up_to(4), Ok(vec![]));
    assert_eq!((guest.used(FROM_GUEST), guest.counters.total_drops()), (4, 4));
    assert_eq!(guest.receive(), Ok(vec![]));
    assert_eq!(guest.used(FROM_GUEST), 10);
}

#[test]
fn a_guest_is_told_by_the_event_that_it_has_named_last() {
    let mut guest = Guest::new(0);
    let (first, second) = (Event::new().expect("an event"), Event::new().expect("an event"));
    for event in [&first, &second] {
        let request = Request::SetRingEvent {
            kind: EventKind::Call,
            ring: FROM_GUEST,
            has_event: true,
        };
        let file = event.as_fd().try_clone_to_owned().expect("a copy");
        guest.session.answer(request, vec![file]).expect("a right event");
        assert!(event.take(), "something may have been used before");
    }
    guest.describe(FROM_GUEST, 0, (BUFFERS_AT, HEADER + 60), 0, 0);
    guest.offer(FROM_GUEST, 0);
    assert_eq!(guest.receive().map(|frames| frames.len()), Ok(1));
    assert_eq!((first.take(), second.take()), (false, true));
}

#[test]
fn segments_are_delivered_after_a_change_of_their_ring() {
    let mut guest = Guest::new(1 << 11);
    let (header, frame) = super_frame();
    let at = Guest::buffer_at(FROM_GUEST, 0);
    guest.memory.copy_in(at, &header);
    guest.memory.copy_in(at + HEADER, &frame);
    guest.describe(FROM_GUEST, 0, (at, HEADER + frame.len()), 0, 0);
    guest.offer(FROM_GUEST, 0);
    let first = guest.receive_up_to(1).expect("a right frame");
    guest.set_up_rings(0);
    let second = guest.receive().expect("there is nothing new");
    let lengths = [first, second].map(|frames| frames.iter().map(Vec::len).collect::<Vec<_>>());
    assert_eq!(lengths, [[154], [104]]);
    assert_eq!(guest.counters.received_packets, 2);
}

#[test]
fn a_super_frame_that_was_cut_goes_to_a_guest_that_takes_it_as_one() {
    for takes_super_frames in [0, 1 << 1 | 1 << 7 | 1 << 8] {
        let mut guest = Guest::new(1 << 11 | MERGEABLE | takes_super_frames);
        let (header, frame) = super_frame();
        let at = Guest::buffer_at(FROM_GUEST, 0);
        guest.memory.copy_in(at, &header);
        guest.memory.copy_in(at + HEADER, &frame);
        guest.describe(FROM_GUEST, 0, (at, HEADER + frame.len()), 0, 0);
        guest.offer(FROM_GUEST, 0);
        let frames = guest.receive().expect("a right frame");
        // Two pings before and one after go alone.
        let ping = [9; 60];
        let segments = frames.iter().map(Vec::as_slice);
        let all: Vec<&[u8]> = [&ping[..], &ping]
            .into_iter()
            .chain(segments)
            .chain([&ping[..]])
            .collect();
        for index in 0..6 {
            guest.describe(TO_GUEST, index, (Guest::buffer_at(TO_GUEST, index), BUFFER), 2, 0);
            guest.offer(TO_GUEST, index);
        }
        assert_eq!(guest.send(&all), Ok(5));
        let third = Guest::buffer_at(TO_GUEST, 2);
        if takes_super_frames == 0 {
            assert_eq!(guest.used(TO_GUEST), 5);
            assert_eq!(guest.bytes(third + HEADER, 154), frames[0]);
            continue;
        }
        assert_eq!(guest.used(TO_GUEST), 4);
        assert_eq!(guest.bytes(third, 10), header[..10], "what is left to do");
        let found = guest.bytes(third + HEADER, frame.len());
        // The checksum of the IP header is right now, which the guest had left open.
        assert_eq!((&found[..24], &found[26..]), (&frame[..24], &frame[26..]));
        let last = Guest::buffer_at(TO_GUEST, 3);
        assert_eq!(guest.bytes(last + HEADER, 60), ping);
    }
}

#[test]
fn a_guest_goes_on_where_it_was_after_either_side_has_restarted() {
    let mut guest = Guest::new(0);
    let at = Guest::buffer_at(FROM_GUEST, 0);
    guest.describe(FROM_GUEST, 0, (at, HEADER + 60), 0, 0);
    for _ in 0..5 {
        guest.offer(FROM_GUEST, 0);
    }
    assert_eq!(guest.receive().map(|frames| frames.len()), Ok(5));
    let answer = guest.ask(Request::GetRingBase { ring: FROM_GUEST });
    assert_eq!(
        answer,
        Answer::Base {
            ring: FROM_GUEST,
            base: 5
        }
    );
    assert!(guest.link.set_receiver(0, None).is_none(), "the ring has stopped");
    // Another device, which is told nothing of what was before.
    guest.session = Session::new(&VhostOptions::new("test"), Arc::clone(&guest.link));
    guest.ask(Request::SetFeatures(VERSION_1));
    guest.share_memory();
    guest.set_up_rings(0);
    guest.offer(FROM_GUEST, 0);
    assert_eq!(
        guest.receive().map(|frames| frames.len()),
        Ok(1),
        "what was used does not come again"
    );
}

#[test]
fn what_cannot_be_right_is_a_fault() {
    type Damage = (&'static str, fn(&Guest));
    let damages: [Damage; 7] = [
        ("outside of memory", |guest| {
            guest.describe(FROM_GUEST, 0, (MEMORY - 10, 100), 0, 0)
        }),
        ("to be written", |guest| {
            guest.describe(FROM_GUEST, 0, (BUFFERS_AT, 100), 2, 0)
        }),
        ("next is outside of the table", |guest| {
            guest.describe(FROM_GUEST, 0, (BUFFERS_AT, 100), 1, SIZE)
        }),
        ("without an end", |guest| {
            guest.describe(FROM_GUEST, 0, (BUFFERS_AT, 100), 1, 0)
        }),
        ("a table that was not agreed on", |guest| {
            guest.describe(FROM_GUEST, 0, (BUFFERS_AT, 32), 4, 0)
        }),
        ("a head outside of the table", |guest| {
            guest
                .memory
                .word16(ring_at(FROM_GUEST)[1] + 4)
                .store(SIZE, Ordering::Relaxed);
        }),
        ("more chains than descriptors", |guest| {
            guest
                .memory
                .word16(ring_at(FROM_GUEST)[1] + 2)
                .store(SIZE + 1, Ordering::Relaxed);
        }),
    ];
    for (name, damage) in damages {
        let mut guest = Guest::new(0);
        guest.describe(FROM_GUEST, 0, (BUFFERS_AT, 100), 0, 0);
        guest.offer(FROM_GUEST, 0);
        damage(&guest);
        assert!(guest.receive().is_err(), "{name}");
    }
}

/// Each frame is written over the index of available chains, which it raises by one.
#[test]
fn a_guest_that_offers_what_it_has_not_got_back_is_refused() {
    let mut guest = Guest::new(0);
    let index_at = ring_at(TO_GUEST)[1] + 2;
    guest.describe(TO_GUEST, 0, (index_at - HEADER, HEADER + 60), 2, 0);
    guest.offer(TO_GUEST, 0);
    let frames: Vec<[u8; 60]> = (0..=SIZE as u8)
        .map(|number| {
            let mut frame = [0; 60];
            frame[0] = number + 2;
            frame
        })
        .collect();
    let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
    assert!(guest.send(&frames).is_err());
    assert_eq!(guest.used(TO_GUEST), SIZE);
}

#[test]
fn workers_see_a_ring_when_it_is_complete_and_enabled() {
    let guest = Guest::new(0);
    assert!(
        guest.link.is_up(),
        "without the feature, rings are enabled from the start"
    );
    let mut guest = Guest::new(1 << 30);
    assert!(!guest.link.is_up());
    for is_on in [true, false] {
        for ring in [TO_GUEST, FROM_GUEST] {
            guest.ask(Request::EnableRing { ring, is_on });
        }
        assert_eq!(guest.link.is_up(), is_on);
    }
    let refused = guest
        .session
        .answer(Request::EnableRing { ring: 2, is_on: true }, Vec::new());
    assert!(refused.is_err());
    assert!(guest.session.answer(Request::SetFeatures(1 << 50), Vec::new()).is_err());
}
