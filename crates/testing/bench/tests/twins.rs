//! The hand-written twins against the interpreter, packet by packet, with much malformed traffic.

use forebay_bench::agreement::{Witness, agree};
use forebay_bench::contender::Compiled;
use forebay_bench::malformed::mixed;
use forebay_bench::measure::load;
use forebay_bench::workload::{Aggregate, Disaggregate, IotScale, L2, L3, PortForward, Scale, Workload};
use forebay_bench::{BenchError, FrameSet};
use forebay_pipeline::{Engine, PassSet};
use std::sync::Arc;

const FRAMES: usize = 4_000;

fn scale(entries: usize, flows: usize) -> Scale {
    Scale {
        entries,
        flows,
        frame_bytes: 64,
    }
}

/// Half of the frames are damaged.
fn traffic(workload: &dyn Workload) -> FrameSet {
    mixed(&workload.frames(), FRAMES, 0.5, 7).frames
}

fn compare(workload: &dyn Workload, frames: FrameSet) -> Result<(), BenchError> {
    let (frames, numbers) = (Arc::new(frames), workload.ports());
    let pipeline = load(workload, Engine::Interpreter, PassSet::NONE)?;
    let program = Witness::new("interp", &numbers, &frames, |ports| {
        Box::new(Compiled::new(pipeline.clone(), ports))
    });
    let make = workload.twin().expect("the workload has a twin");
    agree(vec![program, Witness::new("hand-written", &numbers, &frames, make)])
}

fn check(workload: &dyn Workload) {
    let frames = traffic(workload);
    compare(workload, frames).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn port_forwarding() {
    check(&PortForward::new(scale(2, 10)).expect("possible"));
}

#[test]
fn ethernet_forwarding() {
    for entries in [2, 1_000, 70_000] {
        check(&L2::new(scale(entries, 1_000)).expect("possible"));
    }
}

#[test]
fn ipv4_routing() {
    for entries in [1, 2, 1_000, 70_000] {
        check(&L3::new(scale(entries, 1_000)).expect("possible"));
    }
}

/// Formats with payloads of even and odd length; few slots, so that flows collide.
const FORMATS: [(u32, usize); 8] = [(1, 22), (2, 22), (2, 23), (4, 22), (4, 34), (8, 22), (8, 23), (8, 46)];

fn iot_scales() -> impl Iterator<Item = IotScale> {
    FORMATS
        .into_iter()
        .zip([100, 64].into_iter().cycle())
        .map(|((batch, message_bytes), slots)| IotScale {
            batch,
            message_bytes,
            flows: 60,
            slots,
        })
}

#[test]
fn aggregation() {
    for scale in iot_scales() {
        let workload = Aggregate::new(scale).expect("possible");
        check(&workload);
        compare(&workload, workload.frames()).unwrap_or_else(|error| panic!("{error}"));
        changed_bytes(&workload, 56);
    }
}

#[test]
fn disaggregation() {
    for scale in iot_scales() {
        let workload = Disaggregate::new(scale).expect("possible");
        check(&workload);
        changed_bytes(&workload, 56);
    }
}

#[test]
fn addresses_at_random_are_flooded_and_learnt_alike() {
    let workload = L2::new(scale(100, 1_000)).expect("possible");
    let mut frames = FrameSet::new(64, FRAMES);
    let mut random = forebay_packet::SplitMix64::new(1);
    for (index, frame) in traffic(&workload).iter().enumerate() {
        let mut frame = frame.to_vec();
        if let Some(byte) = frame.get_mut((random.next_u64() % 24) as usize) {
            *byte ^= 1;
        }
        frames.push(index as u32, &frame);
    }
    compare(&workload, frames).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_byte_of_a_routed_packet_may_be_changed() {
    changed_bytes(&L3::new(scale(1_000, 1_000)).expect("possible"), 40);
}

/// Traffic in which one of the first bytes of each frame is another, half of it with the header checksum that then is
/// right.
fn changed_bytes(workload: &dyn Workload, bytes: u64) {
    let original = workload.frames();
    let mut frames = FrameSet::new(original.frame(0).len(), FRAMES);
    let mut random = forebay_packet::SplitMix64::new(2);
    for index in 0..FRAMES {
        let mut frame = original.frame(index % original.len()).to_vec();
        let place = (random.next_u64() % bytes) as usize;
        frame[place] = random.next_u64() as u8;
        if random.chance(0.5) {
            // Without a checksum of UDP, changes after it matter too.
            frame[40..42].fill(0);
        }
        if random.chance(0.7) {
            frame[24..26].fill(0);
            let checksum = forebay_packet::checksum::internet_checksum(&frame[14..34]);
            frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        }
        frames.push(original.flow(index % original.len()), &frame);
    }
    compare(workload, frames).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_twin_that_differs_is_found() {
    let small = L3::new(scale(10, 1_000)).expect("possible");
    let large = L3::new(scale(20, 1_000)).expect("possible");
    let (frames, numbers) = (Arc::new(large.frames()), large.ports());
    let witness = |workload: &L3, name: &str| {
        Witness::new(
            name,
            &numbers,
            &frames,
            workload.twin().expect("the workload has a twin"),
        )
    };
    let result = agree(vec![witness(&small, "small"), witness(&large, "large")]);
    assert!(matches!(result, Err(BenchError::Differ(_))));
}
