//! The engines on the repository's programs: packets a second on one core, memory to memory, through the whole switch.
//!
//! `cargo bench -p forebay-benches --bench engines`

use forebay_benches::{packets_per_second, repository_root, switch};
use forebay_pipeline::Engine;
use std::time::Duration;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);

struct Case {
    name: &'static str,
    program: &'static str,
    defines: &'static [&'static str],
    /// STF files of `programs/`: entries of the first, packets of the second.
    entries: &'static str,
    packets: &'static str,
    /// How many packets of the file are taken, from its first.
    take: usize,
}

const CASES: &[Case] = &[
    Case {
        name: "portfwd",
        program: "portfwd",
        defines: &[],
        entries: "portfwd/portfwd.stf",
        packets: "portfwd/portfwd.stf",
        take: 4,
    },
    Case {
        name: "l2fwd",
        program: "l2fwd",
        defines: &[],
        entries: "l2fwd/l2fwd.stf",
        packets: "l2fwd/l2fwd.stf",
        take: 1,
    },
    Case {
        name: "l3fwd",
        program: "l3fwd",
        defines: &[],
        entries: "l3fwd/l3fwd.stf",
        packets: "l3fwd/l3fwd.stf",
        take: 1,
    },
    Case {
        name: "iot_aggregate N=8 S=22",
        program: "iot_aggregate",
        defines: &["N=8", "S=22"],
        entries: "iot_aggregate/n8_s22.stf",
        packets: "iot_aggregate/n8_s22.stf",
        take: 16,
    },
    Case {
        name: "iot_disaggregate N=8 S=22, multicast",
        program: "iot_disaggregate",
        defines: &["N=8", "S=22", "METHOD=2"],
        entries: "iot_disaggregate/multicast_n8_s22.stf",
        packets: "iot_disaggregate/multicast_n8_s22.stf",
        take: 2,
    },
    Case {
        name: "iot_disaggregate N=8 S=22, resubmit",
        program: "iot_disaggregate",
        defines: &["N=8", "S=22", "METHOD=1"],
        entries: "iot_disaggregate/resubmit_n8_s22.stf",
        packets: "iot_disaggregate/resubmit_n8_s22.stf",
        take: 2,
    },
];

fn main() {
    println!(
        "{:<40} {:>14} {:>14} {:>8}",
        "packets/s in, one core", "interp", "jit", "ratio"
    );
    for case in CASES {
        let (interp, jit) = (measure(case, Engine::Interpreter), measure(case, Engine::Jit));
        println!("{:<40} {interp:>14.0} {jit:>14.0} {:>8.1}", case.name, jit / interp);
    }
}

fn measure(case: &Case, engine: Engine) -> f64 {
    let read = |file: &str| {
        let path = repository_root().join("programs").join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let frames = forebay_stf::parse(&read(case.packets))
        .expect("the tests of the programs are well-formed")
        .commands
        .into_iter()
        .filter_map(|command| match command.value {
            forebay_stf::Command::Packet { data, .. } => Some(data),
            _ => None,
        })
        .take(case.take)
        .collect();
    let mut switch = switch(engine, case.program, case.defines, &read(case.entries), frames);
    packets_per_second(&mut switch, ROUNDS, ROUND)
}
