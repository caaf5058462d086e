//! Packed rings whose device ends at any moment, with a driver that notices nothing but delay.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::system::shared::SharedMemory;
use crate::vhost::memory::{Region, RegionInfo};
use crate::vhost::ring::Addresses;

const START: u64 = 0x10_0000;
const BYTES: usize = 0x3000;
const DRIVER_AT: u64 = 0x1000;
const DEVICE_AT: u64 = 0x1800;
const BUFFERS_AT: u64 = 0x2000;

/// A driver, and the memory of both.
struct Driver {
    memory: SharedMemory,
    guest: Arc<GuestMemory>,
    size: u16,
    /// Where the next chain is made available, and where the next one is looked for that was used.
    next: Place,
    seen: Place,
    /// Identifier and descriptors of what is on its way, in order.
    offered: VecDeque<(u16, u16)>,
    id: u16,
}

impl Driver {
    fn new(size: u16) -> Driver {
        let (memory, file) = SharedMemory::create("ring", BYTES).expect("memory");
        let info = RegionInfo {
            guest_address: START,
            bytes: BYTES as u64,
            user_address: START,
            file_offset: 0,
        };
        let start = Place { index: 0, round: true };
        Driver {
            memory,
            guest: Arc::new(GuestMemory::new(vec![Region::map(info, &file).expect("in the file")])),
            size,
            next: start,
            seen: start,
            offered: VecDeque::new(),
            id: 0,
        }
    }

    /// A device that knows nothing of one before it.
    fn device(&self) -> PackedRing {
        PackedRing::new(RingParts {
            memory: Arc::clone(&self.guest),
            size: self.size,
            addresses: Addresses {
                descriptors: START,
                driver: START + DRIVER_AT,
                device: START + DEVICE_AT,
            },
            features: RingFeatures::default(),
        })
        .expect("a right ring")
    }

    /// Makes a chain of `count` descriptors available, if there is room.
    fn offer(&mut self, count: u16) {
        let busy: u16 = self.offered.iter().map(|(_, count)| count).sum();
        if busy + count > self.size {
            return;
        }
        self.id = (self.id + 1) % 64;
        // The first last, as drivers must.
        for distance in (0..count).rev() {
            let place = self.next.behind(distance, self.size);
            let goes_on = if distance + 1 < count { NEXT } else { 0 };
            let flags = goes_on | if place.round { AVAILABLE } else { USED };
            let rest = 64 | u64::from(self.id) << 32 | u64::from(flags) << 48;
            self.memory
                .write_pair(usize::from(place.index) * DESCRIPTOR_BYTES, [START + BUFFERS_AT, rest]);
        }
        self.next = self.next.behind(count, self.size);
        self.offered.push_back((self.id, count));
    }

    /// Takes back what was used; returns how many chains.
    fn reclaim(&mut self) -> usize {
        let mut found = 0;
        while let Some(&(id, count)) = self.offered.front() {
            let [_, rest] = self.memory.read_pair(usize::from(self.seen.index) * DESCRIPTOR_BYTES);
            let flags = (rest >> 48) as u16;
            if (flags & AVAILABLE != 0) != self.seen.round || (flags & USED != 0) != self.seen.round {
                break;
            }
            assert_eq!((rest >> 32) as u16, id, "chains come back in order");
            self.seen = self.seen.behind(count, self.size);
            self.offered.pop_front();
            found += 1;
        }
        found
    }
}

/// Takes chains, at most this number, and uses them. The driver does not see it yet.
fn work(device: &mut PackedRing, count: usize) -> usize {
    let mut chains = Chains::new(64);
    let taken = device.take_several(Direction::FromGuest, count, &mut chains);
    taken.expect("right chains");
    chains.taken().iter().for_each(|taken| device.use_up(taken.chain, 0));
    chains.taken().len()
}

#[test]
fn a_driver_that_offers_what_it_has_not_got_back_is_refused() {
    let mut driver = Driver::new(4);
    let mut device = driver.device();
    (0..4).for_each(|_| driver.offer(1));
    assert_eq!(work(&mut device, 4), 4);
    driver.offered.clear();
    driver.offer(1);
    let taken = device.take_several(Direction::FromGuest, 1, &mut Chains::new(64));
    assert!(taken.is_err());
}

#[derive(Debug, Clone)]
enum Step {
    Offer(u16),
    Work(usize),
    Reclaim,
    /// The device works, and ends after this number of stores of what is to be shown.
    End(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4u16).prop_map(Step::Offer),
        2 => (0..5usize).prop_map(Step::Work),
        2 => Just(Step::Reclaim),
        1 => (0..5usize, 0..12usize).prop_map(|(count, stores)| Step::End(count, stores)),
    ]
}

/// Makes this number of stores of those that show what was used.
fn publish_partly(device: &PackedRing, mut stores: usize) {
    let Some((first, others)) = device.hidden.split_first() else {
        return;
    };
    for used in others.iter().chain([first]) {
        let all = usize::from(used.count);
        if stores >= all {
            device.mark(used);
            stores -= all;
            continue;
        }
        (1..used.count)
            .take(stores)
            .for_each(|distance| device.mark_after(used, distance));
        return;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_device_goes_on_where_the_last_one_has_ended(
        size in 3..20u16,
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let mut driver = Driver::new(size);
        let mut device = driver.device();
        for step in steps {
            match step {
                Step::Offer(count) => driver.offer(count),
                Step::Work(count) => {
                    work(&mut device, count);
                    device.publish();
                    prop_assert_eq!(driver.device().used, device.used);
                }
                Step::Reclaim => drop(driver.reclaim()),
                Step::End(count, stores) => {
                    work(&mut device, count);
                    publish_partly(&device, stores);
                    device = driver.device();
                }
            }
        }
        work(&mut device, 64);
        device.publish();
        driver.reclaim();
        prop_assert!(driver.offered.is_empty(), "every chain has come back");
    }
}
