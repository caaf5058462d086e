//! Any bytes as packets, through the repository's programs: whatever comes in goes out or is dropped for a named
//! reason.

#![no_main]

use forebay_driver::{FileSources, Options, compile};
use forebay_packet::MemoryPort;
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Config, Switch};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

const PORTS: u32 = 4;
const QUEUE: usize = 256;

struct Bench {
    switch: Switch,
    outside: Vec<MemoryPort>,
    now_ns: u64,
}

thread_local! {
    static BENCHES: RefCell<Vec<Bench>> = RefCell::new(benches());
}

fn benches() -> Vec<Bench> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let mut benches = Vec::new();
    for (program, defines, entries) in [
        ("portfwd", &[][..], "portfwd/portfwd.stf"),
        ("l2fwd", &[], "l2fwd/l2fwd.stf"),
        ("l3fwd", &[], "l3fwd/l3fwd.stf"),
        ("iot_aggregate", &["N=4"], "iot_aggregate/n4_s22.stf"),
        ("iot_disaggregate", &["N=4", "METHOD=1"], "iot_disaggregate/resubmit_n4_s22.stf"),
        ("iot_disaggregate", &["N=4", "METHOD=2"], "iot_disaggregate/multicast_n4_s22.stf"),
    ] {
        let path = programs.join(program).join(format!("{program}.p4")).display().to_string();
        let provider = FileSources::new();
        let defines: Vec<String> = defines.iter().map(|define: &&str| define.to_string()).collect();
        let mut options = Options::new(&provider);
        options.defines = &defines;
        let program = compile(&path, &options).program.expect("the repository's programs compile");
        let entries = std::fs::read_to_string(programs.join(entries)).expect("entries");
        benches.push(Bench::new(Arc::new(Pipeline::load(program).expect("the program loads")), &entries));
    }
    benches
}

impl Bench {
    fn new(pipeline: Arc<Pipeline>, entries: &str) -> Bench {
        let mut controller = forebay_entries::Controller::new(pipeline.clone());
        for command in forebay_entries::parse(entries).expect("the entries are well-formed").commands {
            controller.apply(&command.value);
        }
        let mut switch = Switch::new(pipeline, Config::default());
        let mut outside = Vec::new();
        for number in 0..PORTS {
            let (inner, outer) = MemoryPort::pair("inside", "outside", QUEUE);
            switch.attach(number, Box::new(inner));
            outside.push(outer);
        }
        Bench { switch, outside, now_ns: 0 }
    }

    fn run(&mut self, packets: &[&[u8]]) {
        for packet in packets {
            let (port, bytes) = packet.split_first().map_or((0, &[][..]), |(first, rest)| (u32::from(*first) % PORTS, rest));
            self.outside[port as usize].inject(bytes);
            self.now_ns += 1_000;
            self.switch.settle(self.now_ns, 1_000, &mut NoTrace);
            for port in &mut self.outside {
                while port.extract().is_some() {}
            }
        }
        self.switch.take_digests();
        let counters = self.switch.counters();
        assert_eq!(counters.in_flight(), 0, "a packet is neither sent nor dropped: {counters:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else { return };
    let packets: Vec<&[u8]> = rest.split(|byte| *byte == 0xa5).take(16).collect();
    BENCHES.with_borrow_mut(|benches| {
        let index = usize::from(*which) % benches.len();
        benches[index].run(&packets);
    });
});
