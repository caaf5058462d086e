//! Carries every frame from one port to another and back, without a switch: what ports alone cost.
//!
//! `cargo run --release -p forebay-ports --example forward -- xdp:s0 xdp:s1 [SECONDS [PROCESSOR [busy]]]`

use forebay_packet::{Burst, Port};
use forebay_ports::{Clock, OpenOptions, Poller, PortSpec, open, pin_to_processor};

const BURST: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, second, rest @ ..] = &arguments[..] else {
        return Err("two ports are needed, for example xdp:s0 xdp:s1".into());
    };
    let options = OpenOptions {
        busy_poll: rest.get(2).is_some_and(|word| word == "busy"),
        ..OpenOptions::default()
    };
    let mut ports = [open_port(0, first, &options)?, open_port(1, second, &options)?];
    let seconds: u64 = rest.first().map_or(Ok(u64::MAX), |text| text.parse())?;
    if let Some(processor) = rest.get(1) {
        pin_to_processor(processor.parse()?)?;
    }
    let (clock, mut poller, mut burst) = (Clock::start(), Poller::new(), Burst::new(BURST));
    let end_ns = clock.now_ns().saturating_add(seconds.saturating_mul(1_000_000_000));
    loop {
        let now_ns = clock.now_ns();
        if now_ns >= end_ns {
            break;
        }
        let mut moved = 0;
        for (from, to) in [(0, 1), (1, 0)] {
            moved += ports[from].receive(&mut burst, BURST, now_ns)?;
            if !burst.is_empty() {
                ports[to].send(&mut burst, now_ns)?;
            }
        }
        if moved == 0 && !options.busy_poll {
            poller.wait(ports.iter().map(|port| port.readiness()), now_ns, 100_000_000)?;
        }
    }
    for port in &ports {
        println!("{}: {}", port.name(), port.counters());
    }
    Ok(())
}

fn open_port(number: u32, text: &str, options: &OpenOptions) -> Result<Box<dyn Port>, Box<dyn std::error::Error>> {
    let spec = PortSpec::parse(&format!("{number}@{text}")).map_err(|error| error.to_string())?;
    let opened = open(&spec, options).map_err(|error| error.to_string())?;
    eprintln!("{text}: {}", opened.means);
    Ok(opened.port)
}
