//! A switch in memory that does nothing but work: frames come from a list that is repeated, and vanish when sent.

use forebay_files::FileSources;
use forebay_packet::{Burst, Port, PortCounters, PortError, Readiness};
use forebay_pipeline::{Engine, NoTrace, Options, Pipeline};
use forebay_stf::Controller;
use forebay_switch::{Config, Switch};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A port that always has the next frame of a list, and takes whatever is sent.
pub struct Treadmill {
    name: String,
    frames: Vec<Vec<u8>>,
    next: usize,
    counters: PortCounters,
}

impl Treadmill {
    /// A port that repeats `frames`; without any, it only takes.
    pub fn new(name: &str, frames: Vec<Vec<u8>>) -> Treadmill {
        Treadmill {
            name: name.to_string(),
            frames,
            next: 0,
            counters: PortCounters::default(),
        }
    }
}

impl Port for Treadmill {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, _now_ns: u64) -> Result<usize, PortError> {
        if self.frames.is_empty() {
            return Ok(0);
        }
        let mut count = 0;
        while count < max {
            let Some(packet) = burst.allocate() else { break };
            let frame = &self.frames[self.next];
            packet.set_data(frame);
            self.counters.count_received(frame.len());
            self.next = (self.next + 1) % self.frames.len();
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let count = burst.len();
        for packet in burst.iter() {
            self.counters.count_sent(packet.len());
        }
        burst.clear();
        Ok(count)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn readiness(&self) -> Readiness {
        Readiness::Now
    }
}

/// The folder of the repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("benches stands in the repository")
        .to_path_buf()
}

/// A program of `programs/` with the entries of an STF text, as a switch that receives `frames` on port 1.
pub fn switch(engine: Engine, program: &str, defines: &[&str], entries: &str, frames: Vec<Vec<u8>>) -> Switch {
    let path = repository_root()
        .join("programs")
        .join(program)
        .join(format!("{program}.p4"));
    let provider = FileSources::new();
    let defines: Vec<String> = defines.iter().map(|define| define.to_string()).collect();
    let mut options = forebay_frontend::Options::new(&provider);
    options.defines = &defines;
    let compiled = forebay_frontend::compile(&path.display().to_string(), &options);
    let messages = forebay_syntax::render::render_all(&compiled.diagnostics, &compiled.sources, false);
    let program = compiled.program.unwrap_or_else(|| panic!("{messages}"));
    let options = Options {
        engine,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(program, options).expect("the program loads"));
    let mut controller = Controller::new(pipeline.clone());
    for command in forebay_stf::parse(entries)
        .expect("the entries are well-formed")
        .commands
    {
        controller.apply(&command.value);
    }
    let mut switch = Switch::new(pipeline, Config::default());
    switch.attach(1, Box::new(Treadmill::new("in", frames)));
    switch.attach(2, Box::new(Treadmill::new("out", Vec::new())));
    switch
}

/// Packets per second that enter the switch, the median of `rounds` rounds of `length` each.
pub fn packets_per_second(switch: &mut Switch, rounds: usize, length: Duration) -> f64 {
    let mut rates: Vec<f64> = (0..rounds).map(|_| one_round(switch, length)).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn one_round(switch: &mut Switch, length: Duration) -> f64 {
    let begin = Instant::now();
    let mut received = 0;
    loop {
        for _ in 0..32 {
            received += switch.breathe(begin.elapsed().as_nanos() as u64, &mut NoTrace).received;
        }
        let elapsed = begin.elapsed();
        if elapsed >= length {
            return received as f64 / elapsed.as_secs_f64();
        }
    }
}
