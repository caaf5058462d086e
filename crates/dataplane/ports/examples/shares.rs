//! How receiving by several workers scales: frames are put on an interface while the workers wait, and then each worker
//! hands on what its share of the port brings. Only that is timed, so that the source takes no processor from the
//! workers.
//!
//! `cargo run --release -p forebay-ports --example shares -- xdp:s0 xdp:s1 e0 WORKERS ROUNDS`, where `e0` is the other
//! end of `s0`. Prints packets a second of the median round, which other work of the machine disturbs less than it does
//! a sum, and frames that were lost. `benches/veth_queues.py` makes the interfaces and compares.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use forebay_packet::{Burst, Port};
use forebay_ports::{OpenOptions, PortSpec, allowed_processors, open, open_shares, pin_to_processor};

const BURST: usize = 64;

/// Frames of a round that each processor sends: fewer than any receive ring holds.
const FRAMES: usize = 2048;

/// How long frames that are lost are waited for.
const PATIENCE: Duration = Duration::from_millis(200);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, source, workers, rounds] = &arguments[..] else {
        return Err("five words are needed, for example xdp:s0 xdp:s1 e0 2 100".into());
    };
    let (workers, rounds): (usize, usize) = (workers.parse()?, rounds.parse()?);
    let processors = allowed_processors()?;
    let pairs = shares(0, input, workers)?.into_iter().zip(shares(1, output, workers)?);
    let pairs: Vec<Mutex<_>> = pairs.map(Mutex::new).collect();
    if pairs.len() != workers {
        return Err("the ports cannot be divided into as many shares".into());
    }
    let mut rates = Rates::default();
    let (begin, end) = (Barrier::new(workers + 1), Barrier::new(workers + 1));
    let (received, sent, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let work = |index: usize| {
        let processor = processors[index % processors.len()];
        pin_to_processor(processor).expect("the processor is allowed");
        let mut pair = pairs[index].lock().expect("each worker has its own");
        let mut burst = Burst::new(BURST);
        loop {
            begin.wait();
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            let started = Instant::now();
            while received.load(Ordering::Relaxed) < sent.load(Ordering::Relaxed) && started.elapsed() < PATIENCE {
                let (from, to) = &mut *pair;
                let count = from.receive(&mut burst, BURST, 0).expect("the interface is there");
                to.send(&mut burst, 0).expect("the interface is there");
                received.fetch_add(count, Ordering::Relaxed);
            }
            end.wait();
        }
    };
    std::thread::scope(|scope| {
        (0..workers).for_each(|index| drop(scope.spawn(move || work(index))));
        for _ in 0..rounds {
            received.store(0, Ordering::Relaxed);
            sent.store(fill(source, &processors), Ordering::Relaxed);
            begin.wait();
            let started = Instant::now();
            end.wait();
            rates.add(
                received.load(Ordering::Relaxed),
                started.elapsed(),
                sent.load(Ordering::Relaxed),
            );
        }
        is_over.store(true, Ordering::Relaxed);
        begin.wait();
    });
    println!("{:.0} {}", rates.median(), rates.lost);
    Ok(())
}

/// What all rounds have come to.
#[derive(Default)]
struct Rates {
    /// Packets a second.
    rates: Vec<f64>,
    lost: usize,
}

impl Rates {
    /// A round in which frames were lost has waited for them: it does not count, but the frames are told.
    fn add(&mut self, received: usize, time: Duration, sent: usize) {
        if received < sent {
            self.lost += sent - received;
        } else {
            self.rates.push(received as f64 / time.as_secs_f64());
        }
    }

    /// That of a round for which as many were faster as slower; 0 when all have lost frames.
    fn median(&mut self) -> f64 {
        self.rates.sort_by(f64::total_cmp);
        self.rates.get(self.rates.len() / 2).copied().unwrap_or_default()
    }
}

fn shares(number: u32, text: &str, workers: usize) -> Result<Vec<Box<dyn Port>>, Failure> {
    let spec = PortSpec::parse(&format!("{number}@{text}")).map_err(|error| error.to_string())?;
    let opened = open_shares(&spec, workers, &OpenOptions::default()).map_err(|error| error.to_string())?;
    Ok(opened.into_iter().map(|opened| opened.port).collect())
}

/// Sends frames of many flows from every processor, each by its own queue of the interface; returns how many.
fn fill(interface: &str, processors: &[usize]) -> usize {
    let fill_from = |processor: usize| {
        pin_to_processor(processor).expect("the processor is allowed");
        let spec = PortSpec::parse(&format!("0@packet:{interface}")).expect("a right name");
        let opened = open(&spec, &OpenOptions::default());
        let mut port = opened.unwrap_or_else(|error| panic!("{error}")).port;
        let mut burst = Burst::new(BURST);
        let mut sent = 0;
        for first in (0..FRAMES).step_by(BURST) {
            for flow in first..first + BURST {
                burst
                    .allocate()
                    .expect("the burst is empty")
                    .set_data(&frame(flow as u16));
            }
            sent += port.send(&mut burst, 0).expect("the interface is there");
        }
        sent
    };
    let fill_from = &fill_from;
    std::thread::scope(|scope| {
        let threads: Vec<_> = processors
            .iter()
            .map(|processor| scope.spawn(move || fill_from(*processor)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}

/// A frame of 60 bytes with UDP, without a checksum.
fn frame(flow: u16) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0");
    frame[14..18].copy_from_slice(&[0x45, 0, 0, 46]);
    (frame[22], frame[23]) = (64, 17);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..36].copy_from_slice(&flow.to_be_bytes());
    frame[37] = 9;
    frame[38..40].copy_from_slice(&26u16.to_be_bytes());
    frame
}
