//! How many frames a second the tester sends, receives and measures on one processor, on a wire in memory, beside the
//! same frames copied and moved without being measured. Rates are per second of processor time, so that other work of
//! the machine does not count.
//!
//! `cargo run --release -p forebay-tester --example rate [FRAME_BYTES [SECONDS]]`

use forebay_packet::{Burst, MemoryPort, Port};
use forebay_tester::{Overrides, Session, Silent, Test};
use std::time::Instant;

const ROUNDS: usize = 5;
const BURST: usize = 32;

struct Nothing;

impl forebay_sim::Library for Nothing {
    fn program(&self, path: &str, _: &[String]) -> Result<forebay_ir::Program, String> {
        Err(format!("{path}: there are no programs here"))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: there are no files here"))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.text(path).map(String::into_bytes)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let bytes: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(60);
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let (measured, moved) = (measured(bytes, seconds), moved(bytes, seconds));
        println!("measured {:.2} Mpps, moved {:.2} Mpps", measured / 1e6, moved / 1e6);
        ratios.push(measured / moved);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio {:.3} (median of {ROUNDS})", ratios[ROUNDS / 2]);
}

/// Frames a second that the tester measures.
fn measured(bytes: usize, seconds: f64) -> f64 {
    let text = format!(
        "description = \"rate\"\nduration_s = {seconds}\nburst = {BURST}\nsample_s = 0\n[device]\nwire = true\n[[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\n\
         pps = \"max\"\nframe = {{ udp = {{ bytes = {bytes} }} }}\n"
    );
    let test = Test::read(&text, &Nothing, &Overrides::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut session = Session::open(&test).expect("a wire");
    let processor_s = processor_s();
    let found = session.trial(test.plan(), &mut Silent).expect("a trial");
    assert_eq!(found.lost(), 0);
    found.streams[0].paths[0].received as f64 / (self::processor_s() - processor_s)
}

/// Frames a second that are copied into packets and moved over two memory pairs.
fn moved(bytes: usize, seconds: f64) -> f64 {
    let frame = vec![0x5a; bytes];
    let (mut out, mut back) = MemoryPort::pair("out", "in", 4096);
    let mut burst = Burst::new(BURST);
    let (started, processor_s, mut count) = (Instant::now(), processor_s(), 0u64);
    while started.elapsed().as_secs_f64() < seconds {
        while let Some(packet) = burst.allocate() {
            packet.set_data(&frame);
        }
        let _ = out.send(&mut burst, 0);
        count += back.receive(&mut burst, BURST, 0).unwrap_or(0) as u64;
        burst.clear();
    }
    count as f64 / (self::processor_s() - processor_s)
}

/// Seconds for which this thread has had a processor.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
    ns.expect("the kernel says how long a thread has run") / 1e9
}
