//! What `forebay bench` measures: programs, their sizes, engines and workers, from the command line.

use crate::control_plane;
use crate::entries::Entries;
use crate::program::{self, CompileOptions, Engine};
use crate::stf_file;
use anyhow::{Context, Result, anyhow, bail};
use forebay_bench::workload::{Aggregate, Custom, Disaggregate, IotScale, L2, L3, PortForward, Updates, Writer};
use forebay_bench::{FrameSet, Scale, Workload};
use forebay_daemon::Start;
use forebay_entries::{Applied, Controller};
use forebay_packet::pcap;
use forebay_pipeline::Pipeline;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// The programs that have a hand-written twin.
const PROGRAMS: &[&str] = &["portfwd", "l2fwd", "l3fwd", "iot_aggregate", "iot_disaggregate"];

/// Entries when none are named, where there is a choice.
const ENTRIES: &[usize] = &[2, 1_000, 1_000_000];

/// What is to be measured.
#[derive(clap::Args)]
pub struct WhatArguments {
    /// What to measure: portfwd, l2fwd, l3fwd, iot_aggregate, iot_disaggregate, or a program of your own
    #[arg(value_name = "PROGRAM")]
    programs: Vec<String>,
    /// Entries of each table that grows; for a program of your own, a file as `forebay run` takes it
    #[arg(long, value_name = "NUMBERS|FILE", value_delimiter = ',')]
    entries: Vec<String>,
    /// Do all commands of the entries' file that can be done; as for `forebay run`
    #[arg(long, requires = "entries")]
    keep_going: bool,
    /// Flows that send in turns; as many as entries unless told
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    flows: Vec<usize>,
    /// Bytes of a frame, without the frame check sequence
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "64")]
    frame_size: Vec<usize>,
    /// Messages in an N-packet
    #[arg(long, value_name = "N", default_value_t = IotScale::default().batch)]
    batch: u32,
    /// Bytes after the UDP header of an IoT message
    #[arg(long, value_name = "S", default_value_t = IotScale::default().message_bytes)]
    message_size: usize,
    /// Frames for a program of your own
    #[arg(long, value_name = "FILE.pcap")]
    pcap: Option<PathBuf>,
    /// Ports of a program of your own; frames come by the first
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,2")]
    ports: Vec<u32>,
    /// Commands that change tables of a program of your own while it is measured, again and again: an STF file
    #[arg(long, value_name = "FILE.stf")]
    updates: Option<PathBuf>,
    /// How many of them a second
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, requires = "updates", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    updates_per_s: u32,
    #[command(flatten)]
    compile: CompileOptions,
    /// Threads, each with its share of the flows
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1")]
    workers: Vec<usize>,
    /// What executes the program
    #[arg(long, value_enum, value_delimiter = ',', default_value = "jit")]
    engine: Vec<Engine>,
}

/// A workload with what executes it.
pub struct Row {
    /// What is measured.
    pub workload: Rc<dyn Workload>,
    /// What executes it.
    pub engines: Vec<Engine>,
    /// Threads.
    pub workers: usize,
}

/// Rows that are measured side by side: those of one program.
pub type Group = Vec<Row>;

/// A program has errors, which have been reported.
#[derive(Debug)]
pub struct HasErrors;

impl std::fmt::Display for HasErrors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the program has errors")
    }
}

impl std::error::Error for HasErrors {}

/// All requested measurements, one group for each program.
///
/// # Errors
/// When a program, a file or a number is not as it should be; [`HasErrors`] when a program does not compile.
pub fn groups(what: &WhatArguments) -> Result<Vec<Group>> {
    if what.workers.iter().any(|workers| !(1..=1024).contains(workers)) {
        bail!("--workers: 1 to 1024 threads");
    }
    let named: Vec<&str> = what.programs.iter().map(String::as_str).collect();
    let programs = if named.is_empty() { PROGRAMS } else { &named };
    check_options(what, programs)?;
    let groups = programs.iter().map(|program| {
        let workloads = workloads(what, program).with_context(|| program.to_string())?;
        let mut group = rows(what, &workloads);
        if *program == "l3fwd" && is_usual(what) {
            group.extend(usual_l3(what, workloads)?);
        }
        Ok(group)
    });
    groups.collect()
}

/// Refuses what would say nothing: options of programs of the user's own where there is none, and the other way round.
fn check_options(what: &WhatArguments, programs: &[&str]) -> Result<()> {
    let is_own = |program: &&str| !PROGRAMS.contains(program);
    let of_own = [
        ("--pcap", what.pcap.is_some()),
        ("--updates", what.updates.is_some()),
        ("--ports", what.ports != [1, 2]),
        ("-D", !what.compile.define.is_empty()),
        ("-I", !what.compile.include.is_empty()),
    ];
    if let Some((name, _)) = of_own.iter().find(|(_, is_given)| *is_given)
        && !programs.iter().any(is_own)
    {
        bail!(
            "{name} is for a program of your own, FILE.p4; {} have their own tables and traffic",
            PROGRAMS.join(", ")
        );
    }
    if !what.flows.is_empty() && programs.iter().all(is_own) {
        bail!("--flows: the flows of a program of your own are those of its --pcap");
    }
    let usual = IotScale::default();
    let is_iot = |program: &&str| program.starts_with("iot_");
    let (plain, iot) = (
        programs.iter().any(|program| !is_own(program) && !is_iot(program)),
        programs.iter().any(|program| !is_own(program) && is_iot(program)),
    );
    let (of_plain, of_iot) = ("portfwd, l2fwd and l3fwd", "iot_aggregate and iot_disaggregate");
    let of_some = [
        ("--frame-size", what.frame_size != [64], plain, of_plain),
        ("--batch", what.batch != usual.batch, iot, of_iot),
        ("--message-size", what.message_size != usual.message_bytes, iot, of_iot),
    ];
    if let Some((name, _, _, of)) = of_some.iter().find(|(_, is_given, is_used, _)| *is_given && !is_used) {
        bail!("{name} is for {of}");
    }
    Ok(())
}

/// Whether nothing was said about what is to be measured.
fn is_usual(what: &WhatArguments) -> bool {
    what.programs.is_empty() && what.entries.is_empty() && what.flows.is_empty()
}

/// For L3 with 1,000 routes, one flow, two workers and the interpreter are measured beside the rest.
fn usual_l3(what: &WhatArguments, workloads: Vec<Rc<dyn Workload>>) -> Result<Group> {
    let is_middle = |workload: &Rc<dyn Workload>| workload.scale().is_some_and(|scale| scale.entries == 1_000);
    let Some(middle) = workloads.into_iter().find(is_middle) else {
        return Ok(Vec::new());
    };
    let one_flow = middle.scale().map(|scale| L3::new(Scale { flows: 1, ..scale }));
    let one_flow: Rc<dyn Workload> = Rc::new(one_flow.expect("L3 has a scale")?);
    let row = |workload: &Rc<dyn Workload>, engines: &[Engine], workers| Row {
        workload: workload.clone(),
        engines: engines.to_vec(),
        workers,
    };
    Ok(vec![
        row(&one_flow, &what.engine, 1),
        row(&middle, &what.engine, 2),
        row(&middle, &[Engine::Interp], 1),
    ])
}

/// The workloads with every number of workers.
fn rows(what: &WhatArguments, workloads: &[Rc<dyn Workload>]) -> Group {
    let with_workers = |workload: &Rc<dyn Workload>| {
        let rows = what.workers.iter().map(|workers| Row {
            workload: workload.clone(),
            engines: what.engine.clone(),
            workers: *workers,
        });
        rows.collect::<Vec<_>>()
    };
    workloads.iter().flat_map(with_workers).collect()
}

/// A program at every requested size.
fn workloads(what: &WhatArguments, program: &str) -> Result<Vec<Rc<dyn Workload>>> {
    let mut workloads: Vec<Rc<dyn Workload>> = Vec::new();
    match program {
        "portfwd" => {
            for scale in scales(what, &[2])? {
                workloads.push(Rc::new(PortForward::new(scale)?));
            }
        }
        "l2fwd" => {
            for scale in scales(what, &entries(what, ENTRIES)?)? {
                workloads.push(Rc::new(L2::new(scale)?));
            }
        }
        "l3fwd" => {
            for scale in scales(what, &entries(what, ENTRIES)?)? {
                workloads.push(Rc::new(L3::new(scale)?));
            }
        }
        "iot_aggregate" => {
            for scale in iot_scales(what)? {
                workloads.push(Rc::new(Aggregate::new(scale)?));
            }
        }
        "iot_disaggregate" => {
            for scale in iot_scales(what)? {
                workloads.push(Rc::new(Disaggregate::new(scale)?));
            }
        }
        _ => workloads.push(Rc::new(custom(what, Path::new(program))?)),
    }
    Ok(workloads)
}

/// The numbers after `--entries`.
fn entries(what: &WhatArguments, usual: &[usize]) -> Result<Vec<usize>> {
    if what.entries.is_empty() {
        return Ok(usual.to_vec());
    }
    let number = |text: &String| {
        text.parse()
            .map_err(|_| anyhow!("--entries: expected a number, found {text:?}"))
    };
    what.entries.iter().map(number).collect()
}

fn scales(what: &WhatArguments, all_entries: &[usize]) -> Result<Vec<Scale>> {
    let mut scales = Vec::new();
    for &entries in all_entries {
        let as_many = [entries];
        let all_flows = if what.flows.is_empty() {
            &as_many
        } else {
            &what.flows[..]
        };
        for &flows in all_flows {
            scales.extend(what.frame_size.iter().map(|&frame_bytes| Scale {
                entries,
                flows,
                frame_bytes,
            }));
        }
    }
    Ok(scales)
}

/// Messages of one size; entries are the slots of flows.
fn iot_scales(what: &WhatArguments) -> Result<Vec<IotScale>> {
    let usual = IotScale::default();
    let mut scales = Vec::new();
    for slots in entries(what, &[usual.slots as usize])? {
        let usual_flows = [usual.flows];
        let all_flows = if what.flows.is_empty() {
            &usual_flows
        } else {
            &what.flows[..]
        };
        scales.extend(all_flows.iter().map(|&flows| IotScale {
            batch: what.batch,
            message_bytes: what.message_size,
            flows,
            slots: slots.try_into().unwrap_or(u32::MAX),
        }));
    }
    Ok(scales)
}

/// A program of the user's own.
fn custom(what: &WhatArguments, path: &Path) -> Result<Custom> {
    if path.extension().is_none() {
        bail!(
            "there is no such program here; there are {}, and files",
            PROGRAMS.join(", ")
        );
    }
    let Some(capture) = &what.pcap else {
        bail!(
            "a program of your own needs traffic: --pcap FILE.pcap\n\n\
             Usage: forebay bench PROG.p4 --pcap FILE.pcap [--entries FILE] [--ports 1,2]\n\n\
             For more information, try 'forebay bench --help'."
        );
    };
    let entries = match &what.entries[..] {
        [] => None,
        [file] => Some(Entries::read(Path::new(file), what.keep_going)?),
        _ => bail!("--entries: one file for a program of your own"),
    };
    let compilation = program::compile_file(path, &what.compile)?;
    program::print(&compilation.report);
    let program = compilation.program.ok_or(HasErrors)?;
    let known = if entries.as_ref().is_some_and(Entries::need_p4info) {
        Some(control_plane::known(path, compilation.p4info.as_ref(), &program)?)
    } else {
        None
    };
    Ok(Custom {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        program,
        configure: Box::new(move |pipeline| match &entries {
            None => Ok(()),
            Some(entries) => {
                let mut start = Start::new(pipeline.clone(), known.clone());
                entries.fill(&mut start).map_err(|error| format!("{error:#}"))
            }
        }),
        ports: what.ports.clone(),
        frames: frames(capture)?,
        updates: match &what.updates {
            None => None,
            Some(file) => Some(updates(file, what.updates_per_s)?),
        },
    })
}

/// The commands of a file, in turns.
fn updates(file: &Path, per_s: u32) -> Result<Updates> {
    let commands: Vec<_> = stf_file::read(file)?.commands;
    let commands: Vec<_> = commands
        .into_iter()
        .map(|command| command.value)
        .filter(|command| !command.is_traffic())
        .collect();
    if commands.is_empty() {
        bail!("{} holds no commands that change tables", file.display());
    }
    let writer = move |pipeline: &Arc<Pipeline>| -> Writer {
        let mut controller = Controller::new(pipeline.clone());
        let mut commands = commands.clone().into_iter().cycle();
        Box::new(
            move || match commands.next().map(|command| controller.apply(&command)) {
                Some(Applied::Refused(message) | Applied::Differs(message)) => Err(message),
                _ => Ok(()),
            },
        )
    };
    Ok(Updates {
        per_s,
        writer: Box::new(writer),
    })
}

fn frames(capture: &Path) -> Result<FrameSet> {
    let bytes = forebay_files::bytes(capture)?;
    let packets = pcap::read_all(&bytes).with_context(|| format!("{} is no capture file", capture.display()))?;
    if packets.is_empty() {
        bail!("{} holds no packets", capture.display());
    }
    Ok(FrameSet::of(packets.iter().map(|packet| packet.data())))
}
