//! The speed of an executor on a router: source MAC, longest prefix, next hop, TTL, header checksum.
//!
//! `cargo run --release -p forebay-pipeline --example l3fwd` prints packets per second on one core, with packets in
//! memory and bursts of 32.

use forebay_bits::Bits;
use forebay_ir::{EntryMatch, text, verify};
use forebay_pipeline::{
    EgressArguments, EgressDecision, EgressPacket, Entry, EntryAction, IngressArguments, IngressDecision, NoTrace,
    Pipeline, Worker,
};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const ROUTES: u32 = 1000;
const BURST: u32 = 32;
const PACKETS: u32 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let program = text::read(include_str!("l3fwd.ir.txt"))?;
    assert!(verify::verify(&program).is_empty(), "the program is valid");
    let pipeline = Arc::new(Pipeline::load(program)?);
    write_tables(&pipeline)?;
    let mut worker = Worker::new(Arc::clone(&pipeline));
    let frames: Vec<Vec<u8>> = (0..ROUTES).map(frame).collect();
    forward(&mut worker, &frames, PACKETS / 10);
    let start = Instant::now();
    let sent = forward(&mut worker, &frames, PACKETS);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{:.0} packets/s ({sent} sent, {ROUTES} routes)",
        f64::from(PACKETS) / seconds
    );
    Ok(())
}

fn write_tables(pipeline: &Pipeline) -> Result<(), Box<dyn Error>> {
    let mac = Entry {
        matches: vec![EntryMatch::Exact(Bits::new(48, 0x0200_0000_0001))],
        priority: 0,
        action: EntryAction::call("NoAction", vec![]),
    };
    pipeline.insert_entry("smac", &mac)?;
    for route in 0..ROUTES {
        let prefix = EntryMatch::Lpm {
            value: Bits::new(32, u128::from(0x0A00_0000 + (route << 8))),
            prefix_length: 24,
        };
        let action = EntryAction::call("set_nexthop", vec![Bits::new(16, u128::from(route % 64))]);
        pipeline.insert_entry(
            "routes",
            &Entry {
                matches: vec![prefix],
                priority: 0,
                action,
            },
        )?;
    }
    for hop in 0..64 {
        let args = vec![Bits::new(9, hop), Bits::new(48, 0x0400_0000_0000 + hop)];
        let matches = vec![EntryMatch::Exact(Bits::new(16, hop))];
        pipeline.insert_entry(
            "nexthops",
            &Entry {
                matches,
                priority: 0,
                action: EntryAction::call("forward", args),
            },
        )?;
    }
    Ok(())
}

/// A frame of 64 bytes to one of the routes.
fn frame(route: u32) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0]);
    bytes[14..26].copy_from_slice(&[0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes[30..34].copy_from_slice(&(0x0A00_0001 + (route << 8)).to_be_bytes());
    bytes
}

fn forward(worker: &mut Worker, frames: &[Vec<u8>], packets: u32) -> u32 {
    let (mut arriving, mut ingress, mut leaving, mut egress) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut frames = frames.iter().cycle();
    let mut sent = 0;
    for _ in 0..packets / BURST {
        for frame in frames.by_ref().take(BURST as usize) {
            let mut bytes = worker.buffer();
            bytes.extend_from_slice(frame);
            arriving.push(worker.packet(bytes, IngressArguments::default()));
        }
        worker.ingress(&mut arriving, &mut ingress, &mut NoTrace);
        for decided in ingress.drain(..) {
            if let IngressDecision::Enqueue(packet) = decided.decision {
                leaving.push(EgressPacket {
                    packet,
                    arguments: EgressArguments::default(),
                });
            }
        }
        worker.egress(&mut leaving, &mut egress, &mut NoTrace);
        for decided in egress.drain(..) {
            if let EgressDecision::Transmit(packet) = decided.decision {
                sent += 1;
                worker.recycle(packet);
            }
        }
    }
    sent
}
