//! A front end that sends any messages, and a guest that writes anything to its memory: for tests and for fuzzing.
//!
//! Whatever they do is answered or refused; nothing panics, hangs, or touches memory that is not the guest's.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use forebay_packet::{Burst, PortCounters};

use super::VhostLink;
use super::message::Request;
use super::options::VhostOptions;
use super::session::Session;
use crate::link::{Input, ReceiveQueue, SendQueue};
use crate::system::event::Event;
use crate::system::shared::SharedMemory;

/// Bytes of the guest's memory.
const MEMORY: usize = 1 << 16;

/// Where it begins, for guest and process: addresses in the input are often in it.
const START: u64 = 0x1_0000;

/// Pairs of queues.
const QUEUES: usize = 2;

/// A link with a guest of its own.
struct Bench {
    link: Arc<VhostLink>,
    session: Session,
    memory: SharedMemory,
    file: OwnedFd,
}

/// Lets a front end and a guest do what the input says.
pub fn exercise(input: &[u8]) {
    let mut input = Input(input);
    let Some(mut bench) = Bench::new() else { return };
    bench.set_up(&mut input);
    while !input.is_at_end() {
        let goes_on = match input.byte() % 8 {
            0 => bench.message(&mut input),
            1..=4 => bench.write(&mut input),
            _ => bench.carry(),
        };
        if !goes_on {
            return;
        }
    }
    bench.carry();
}

impl Bench {
    fn new() -> Option<Bench> {
        let options = VhostOptions {
            queues: QUEUES,
            ..VhostOptions::new("exercise")
        };
        let link = Arc::new(VhostLink::new(QUEUES, 1, Arc::new(Event::new().ok()?)).ok()?);
        let (memory, file) = SharedMemory::create("guest", MEMORY).ok()?;
        Some(Bench {
            session: Session::new(&options, Arc::clone(&link)),
            link,
            memory,
            file,
        })
    }

    /// A request as a payload of words.
    fn request(&mut self, number: u32, words: &[u64], files: Vec<OwnedFd>) -> bool {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        match Request::decode(number, &payload) {
            Ok(Some(request)) => self.session.answer(request, files).is_ok(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    fn files(&self, number: u32) -> Vec<OwnedFd> {
        let copy = match number {
            5 | 37 => self.file.as_fd().try_clone_to_owned().ok(),
            12..=14 => Event::new()
                .ok()
                .and_then(|event| event.as_fd().try_clone_to_owned().ok()),
            _ => None,
        };
        copy.into_iter().collect()
    }

    /// Memory and rings as a right front end sets them up, so that most inputs get as far as descriptors.
    fn set_up(&mut self, input: &mut Input<'_>) {
        let features = match input.byte() % 4 {
            0 => 1 << 32 | 1 << 28,
            1 => 1 << 32 | 1 << 28 | 1 << 29 | 1 << 15 | 1 << 11,
            2 => 1 << 32 | 1 << 34 | 1 << 28 | 1 << 29 | 1 << 15,
            _ => 1 << 32 | 1 << 34,
        };
        self.request(2, &[features], Vec::new());
        let files = self.files(5);
        self.request(5, &[1, START, MEMORY as u64, START, 0], files);
        for ring in 0..2 * QUEUES as u64 {
            let at = START + ring * 0x1000;
            let size = 1 << (input.byte() % 6);
            self.request(8, &[ring | size << 32], Vec::new());
            self.request(9, &[ring, at, at + 0x800, at + 0xC00], Vec::new());
            self.request(10, &[ring | 0x8000 << 32], Vec::new());
            let files = self.files(12);
            self.request(12, &[ring], files);
        }
    }

    fn message(&mut self, input: &mut Input<'_>) -> bool {
        let number = u32::from(input.byte() % 40);
        let words: [u64; 5] = std::array::from_fn(|_| match input.byte() {
            near @ 0..128 => u64::from(near),
            far => START + u64::from(far) * u64::from(input.byte()),
        });
        let files = self.files(number);
        self.request(number, &words, files)
    }

    /// Writes to the guest's memory: mostly descriptors and indices that are nearly right.
    fn write(&mut self, input: &mut Input<'_>) -> bool {
        let ring = usize::from(input.byte() % 4) * 0x1000;
        match input.byte() % 4 {
            0 => {
                let at = ring + usize::from(input.byte() % 32) * 16;
                let address = START + u64::from(input.word());
                let flags = u64::from(input.word() & 0x8087);
                let tail = u64::from(input.byte());
                self.memory
                    .write_pair(at, [address, u64::from(input.word()) | flags << 32 | tail << 48]);
            }
            1 => {
                let at = ring + usize::from(input.byte() % 32) * 16 + 14;
                self.memory.copy_in(at, &input.word().to_le_bytes());
            }
            2 => {
                let at = ring + 0x800 + usize::from(input.byte() % 64);
                self.memory.copy_in(at, &input.word().to_le_bytes());
            }
            _ => {
                let at = usize::from(input.word()).min(MEMORY - 8);
                let bytes: [u8; 8] = std::array::from_fn(|_| input.byte());
                self.memory.copy_in(at, &bytes);
            }
        }
        true
    }

    /// Receives and sends by all queues; false when one of them has a fault.
    fn carry(&mut self) -> bool {
        let (mut burst, mut counters) = (Burst::new(16), PortCounters::default());
        let mut is_right = true;
        for queue in 0..QUEUES {
            if let Some(receiver) = self.link.set_receiver(queue, None).as_mut() {
                let received = receiver.receive(&mut burst, 16, 0, &mut counters);
                let counted = counters.received_packets as usize;
                assert_eq!(burst.len(), counted, "what is counted is there");
                is_right &= received.is_ok();
                receiver.arm();
                receiver.disarm();
                burst.clear();
                counters = PortCounters::default();
            }
            for length in [60, 1500, 9000] {
                burst.allocate().expect("there is room").set_data(&vec![7; length]);
            }
            if let Some(sender) = self.link.set_sender(queue, None).as_mut() {
                is_right &= sender.send(burst.as_slice(), &mut counters).is_ok();
            }
            burst.clear();
        }
        // The queues were taken out, and come back with the next change.
        is_right && self.request(2, &[self.session.features()], Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn whatever_a_guest_does_is_contained(input in proptest::collection::vec(any::<u8>(), 0..600)) {
            exercise(&input);
        }
    }
}
