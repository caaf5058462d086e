//! A workload for profilers that count instructions: `account PROGRAM ENTRIES WHO BURSTS [CODE]` takes `BURSTS` bursts
//! of 64 packets through the program (`jit`), its twin (`hand-written`) or nothing (`harness`), and does nothing else.
//! PROGRAM is one of the repository's, or a file; ENTRIES is how many the tables have, or for a file `STF,PCAP`: its entries
//! and its traffic, which comes by port 1.
//! The machine code of the program is written to the file CODE, and its address printed. See
//! `benches/accounting/README.md`.

use forebay_bench::FrameSet;
use forebay_bench::contender::{Bare, Compiled, Ports, Work};
use forebay_bench::ports::FramePort;
use forebay_bench::workload::{Aggregate, Custom, Disaggregate, IotScale, L2, L3, PortForward, Scale, Workload};
use forebay_driver::FileSources;
use forebay_entries::{Applied, Controller};
use forebay_packet::pcap;
use forebay_pipeline::{Engine, FastPath, Options, Pipeline};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, entries, who, bursts, rest @ ..] = &arguments[..] else {
        return Err("say: PROGRAM ENTRIES jit|hand-written|harness BURSTS [CODE]".into());
    };
    let workload: Box<dyn Workload> = if Path::new(program).extension().is_some() {
        let files = entries
            .split_once(',')
            .ok_or("say the program's entries and traffic: STF,PCAP")?;
        Box::new(of_files(program, files)?)
    } else {
        workload(program, entries.parse()?)?
    };
    let mut work: Box<dyn Work> = match who.as_str() {
        "jit" => compiled(&*workload, rest.first())?,
        "hand-written" => workload.twin().ok_or("it has no twin")?(ports(&*workload)),
        "harness" => Box::new(Bare::new(ports(&*workload))),
        _ => return Err("say who: jit, hand-written or harness".into()),
    };
    let packets: u64 = (0..bursts.parse()?).map(|_| work.poll(0)).sum();
    println!("{packets} packets");
    Ok(())
}

fn workload(program: &str, entries: usize) -> Result<Box<dyn Workload>, Box<dyn Error>> {
    let scale = Scale {
        entries,
        flows: entries,
        frame_bytes: 60,
    };
    let iot = IotScale::default();
    Ok(match program {
        "portfwd" => Box::new(PortForward::new(scale)?),
        "l2fwd" => Box::new(L2::new(scale)?),
        "l3fwd" => Box::new(L3::new(scale)?),
        "iot_aggregate" => Box::new(Aggregate::new(iot)?),
        "iot_disaggregate" => Box::new(Disaggregate::new(iot)?),
        _ => return Err("there is no such program".into()),
    })
}

/// A program of the user's own.
fn of_files(path: &str, (entries, capture): (&str, &str)) -> Result<Custom, Box<dyn Error>> {
    let sources = FileSources::new();
    let compiled = forebay_driver::compile(path, &forebay_driver::Options::new(&sources));
    let test = forebay_entries::parse(&std::fs::read_to_string(entries)?).map_err(|error| format!("{error:?}"))?;
    let configure = move |pipeline: &Arc<Pipeline>| {
        let mut controller = Controller::new(Arc::clone(pipeline));
        let commands = test.commands.iter().filter(|command| !command.value.is_traffic());
        for command in commands {
            if let Applied::Refused(message) = controller.apply(&command.value) {
                return Err(format!("line {}: {message}", command.line));
            }
        }
        Ok(())
    };
    let packets = pcap::read_all(&std::fs::read(capture)?)?;
    Ok(Custom {
        name: path.to_string(),
        program: compiled
            .program
            .ok_or("the program does not compile: see forebay check")?,
        configure: Box::new(configure),
        ports: vec![1, 2],
        frames: FrameSet::of(packets.iter().map(|packet| packet.data())),
        updates: None,
    })
}

fn compiled(workload: &dyn Workload, code: Option<&String>) -> Result<Box<dyn Work>, Box<dyn Error>> {
    let options = Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(workload.compile()?, options)?);
    workload.configure(&pipeline)?;
    pipeline.finish_compiling();
    if let Some(path) = code {
        let code = pipeline.machine_code().ok_or("its packets take no fast path")?;
        std::fs::write(path, code)?;
        println!("code at {:#x}", code.as_ptr().addr());
    }
    Ok(Box::new(Compiled::new(pipeline, ports(workload))))
}

/// All traffic comes by the first.
fn ports(workload: &dyn Workload) -> Ports {
    let frames = Arc::new(workload.frames());
    let numbers = workload.ports().into_iter().enumerate();
    let port = |(index, number): (usize, u32)| {
        let name = format!("port {number}");
        let port = match index {
            0 => FramePort::repeating(&name, Arc::clone(&frames)),
            _ => FramePort::silent(&name),
        };
        (number, Box::new(port) as Box<_>)
    };
    numbers.map(port).collect()
}
