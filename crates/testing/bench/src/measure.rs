//! Measures contenders side by side: a warm-up, then rounds in which each has a turn, of which the median counts.

use crate::agreement::{Witness, agree};
use crate::clock::{CycleCounter, thread_time};
use crate::contender::{Bare, Compiled, Ports, Work};
use crate::error::BenchError;
use crate::frames::FrameSet;
use crate::malformed::mixed;
use crate::ports::FramePort;
use crate::workload::{Scale, Twin, Updates, Workload, Writer};
use forebay_pipeline::{Engine, PassSet, PathCounters, Pipeline};
use forebay_ports::{allowed_processors, pin_to_processor};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// Polls between two looks at the clock.
const POLLS_BETWEEN_LOOKS: usize = 16;

/// Frames that program and twin must agree on before they are measured, and how many of them are damaged.
const AGREEMENT_FRAMES: usize = 20_000;
const AGREEMENT_DAMAGED: f64 = 0.1;

/// What to measure.
pub struct Job<'a> {
    /// Program, entries, traffic, twin.
    pub workload: &'a dyn Workload,
    /// What executes the program; each is measured.
    pub engines: Vec<Engine>,
    /// Threads, each with its share of the flows.
    pub workers: usize,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How often each contender has its turn.
    pub rounds: usize,
    /// How long a turn is.
    pub round: Duration,
    /// Programs time one of this many packets: see [`Compiled::sampling_delays`].
    pub delay_sample: Option<u64>,
    /// Passes that the programs' fast path is compiled without.
    pub without_passes: PassSet,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rounds: 5,
            round: Duration::from_millis(200),
            delay_sample: None,
            without_passes: PassSet::NONE,
        }
    }
}

/// The contender that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// The program.
    Program(Engine),
    /// Its twin.
    HandWritten,
    /// The harness alone.
    Harness,
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Contender::Program(Engine::Interpreter) => "interp",
            Contender::Program(Engine::Jit) => "jit",
            Contender::Program(_) => "other engine",
            Contender::HandWritten => "hand-written",
            Contender::Harness => "harness",
        })
    }
}

/// What happened in a turn, all workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Packets a second that came.
    pub received_per_s: f64,
    /// Packets a second that left.
    pub transmitted_per_s: f64,
    /// The part of the turn in which the threads were on their processors; less than 1 when the machine is busy
    /// otherwise.
    pub processor_share: f64,
}

/// The turns of a contender.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub contender: Contender,
    /// One for each round.
    pub turns: Vec<Turn>,
    /// The ways that packets of these rounds took.
    pub paths: PathCounters,
}

impl Figure {
    /// Packets a second that came: the median.
    pub fn received_per_s(&self) -> f64 {
        median(self.turns.iter().map(|turn| turn.received_per_s))
    }

    /// How fast it is in terms of another that took turns with it: of the rounds' ratios of packets that came, the
    /// median.
    pub fn ratio(&self, to: &Figure) -> f64 {
        let rounds = self.turns.iter().zip(&to.turns);
        median(rounds.map(|(of, to)| of.received_per_s / to.received_per_s))
    }

    /// Packets a second that left: the median.
    pub fn transmitted_per_s(&self) -> f64 {
        median(self.turns.iter().map(|turn| turn.transmitted_per_s))
    }
}

/// A workload measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The program.
    pub name: String,
    /// Its size.
    pub scale: Option<Scale>,
    /// Bytes of a frame, on average.
    pub frame_bytes: f64,
    /// Threads.
    pub workers: usize,
    /// The figures of what was measured: programs, twin, harness.
    pub figures: Vec<Figure>,
    /// For nanoseconds into cycles.
    pub cycles: CycleCounter,
}

impl Measured {
    /// The turns of a contender.
    pub fn figure(&self, contender: Contender) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.contender == contender)
    }

    /// The smallest part of a turn that the threads were on their processors.
    pub fn processor_share(&self) -> f64 {
        let turns = self.figures.iter().flat_map(|figure| &figure.turns);
        turns.map(|turn| turn.processor_share).fold(1.0, f64::min)
    }

    /// How fast one contender is in terms of another: [`Figure::ratio`].
    pub fn ratio(&self, of: Contender, to: Contender) -> Option<f64> {
        Some(self.figure(of)?.ratio(self.figure(to)?))
    }
}

/// Measures jobs side by side: in each round every contender of every job has a turn. `progress` is told what is being
/// done.
///
/// # Errors
/// When a program does not compile or its entries do not suit it, or when program and twin do not agree.
pub fn measure(
    jobs: &[Job<'_>],
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measured>, BenchError> {
    let prepared = jobs.iter().map(|job| {
        let name = job.workload.name();
        prepare(job, options, &mut |doing| progress(&format!("{name}: {doing}")))
    });
    let mut prepared = prepared.collect::<Result<Vec<_>, BenchError>>()?;
    for round in 0..=options.rounds {
        for (measured, crews) in &mut prepared {
            // The first is the warm-up.
            match round {
                0 => progress(&format!("{}: warm-up", measured.name)),
                _ => progress(&format!("{}: round {round} of {}", measured.name, options.rounds)),
            }
            for crew in crews {
                let before = crew.paths();
                let turn = crew.turn(options.round)?;
                if round > 0 {
                    crew.figure.turns.push(turn);
                    crew.figure.paths += crew.paths().since(&before);
                }
            }
        }
    }
    let measured = prepared.into_iter().map(|(mut measured, crews)| {
        measured.figures = crews.into_iter().map(|crew| crew.figure).collect();
        measured
    });
    Ok(measured.collect())
}

/// Fills tables, makes traffic, checks that all agree.
fn prepare(
    job: &Job<'_>,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<(Measured, Vec<Crew>), BenchError> {
    let Job {
        workload,
        engines,
        workers,
    } = job;
    progress("entries");
    let twin = workload.twin();
    let pipelines = engines
        .iter()
        .map(|engine| Ok((*engine, load(*workload, *engine, options.without_passes)?)));
    let pipelines = pipelines.collect::<Result<Vec<_>, BenchError>>()?;
    progress("traffic");
    let frames = workload.frames();
    progress("agreement");
    check(*workload, &pipelines, twin.as_ref(), &frames)?;
    let shares: Vec<_> = (0..*workers)
        .map(|worker| Arc::new(frames.share(worker, *workers)))
        .collect();
    let measured = Measured {
        name: workload.name(),
        scale: workload.scale(),
        frame_bytes: frames.mean_bytes(),
        workers: *workers,
        figures: Vec::new(),
        cycles: CycleCounter::calibrated(),
    };
    let crews = crews(*workload, &pipelines, twin.as_ref(), &shares, options.delay_sample);
    Ok((measured, crews))
}

/// A workload's program with its entries.
///
/// # Errors
/// When the program does not compile or its entries do not suit it.
pub fn load(workload: &dyn Workload, engine: Engine, without_passes: PassSet) -> Result<Arc<Pipeline>, BenchError> {
    let options = forebay_pipeline::Options {
        engine,
        without_passes,
        ..Default::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(workload.compile()?, options)?);
    workload.configure(&pipeline)?;
    Ok(pipeline)
}

/// Makes sure that all do the same before it is measured how fast they do it.
fn check(
    workload: &dyn Workload,
    pipelines: &[(Engine, Arc<Pipeline>)],
    twin: Option<&Twin>,
    frames: &FrameSet,
) -> Result<(), BenchError> {
    let traffic = mixed(&frames.take(AGREEMENT_FRAMES), AGREEMENT_FRAMES, AGREEMENT_DAMAGED, 1);
    let (frames, numbers) = (Arc::new(traffic.frames), workload.ports());
    let programs = pipelines.iter().map(|(engine, pipeline)| {
        let name = Contender::Program(*engine).to_string();
        Witness::new(name, &numbers, &frames, |ports| {
            Box::new(Compiled::new(pipeline.clone(), ports))
        })
    });
    let twin = twin.map(|make| Witness::new(Contender::HandWritten.to_string(), &numbers, &frames, make));
    agree(programs.chain(twin).collect())
}

/// The workers of a contender.
struct Crew {
    workers: Vec<Box<dyn Work>>,
    /// What updates tables meanwhile, and how often.
    writer: Option<(Writer, Duration)>,
    figure: Figure,
}

fn crews(
    workload: &dyn Workload,
    pipelines: &[(Engine, Arc<Pipeline>)],
    twin: Option<&Twin>,
    shares: &[Arc<FrameSet>],
    delay_sample: Option<u64>,
) -> Vec<Crew> {
    let numbers = workload.ports();
    let crew = |contender, make: &dyn Fn(Ports) -> Box<dyn Work>| Crew {
        workers: shares.iter().map(|frames| make(endless(&numbers, frames))).collect(),
        writer: None,
        figure: Figure {
            contender,
            turns: Vec::new(),
            paths: PathCounters::default(),
        },
    };
    let programs = pipelines.iter().map(|(engine, pipeline)| {
        let writer = |updates: &Updates| {
            let interval = Duration::from_secs(1) / updates.per_s.max(1);
            ((updates.writer)(pipeline), interval)
        };
        Crew {
            writer: workload.updates().map(writer),
            ..crew(Contender::Program(*engine), &|ports| {
                Box::new(Compiled::new(pipeline.clone(), ports).sampling_delays(delay_sample))
            })
        }
    });
    let twin = twin.map(|make| crew(Contender::HandWritten, make));
    let bare = crew(Contender::Harness, &|ports| Box::new(Bare::new(ports)));
    programs.chain(twin).chain([bare]).collect()
}

/// Ports, the first of which repeats the frames for ever.
fn endless(numbers: &[u32], frames: &Arc<FrameSet>) -> Ports {
    let ports = numbers.iter().enumerate().map(|(index, number)| {
        let port = match index {
            0 => FramePort::repeating("in", frames.clone()),
            _ => FramePort::silent("out"),
        };
        (*number, Box::new(port) as _)
    });
    ports.collect()
}

impl Crew {
    /// The ways that packets took so far, of all workers.
    fn paths(&self) -> PathCounters {
        let workers = self.workers.iter();
        workers.fold(PathCounters::default(), |mut all, work| {
            all += work.paths();
            all
        })
    }

    /// All workers at once, each in a thread of its own on a processor of its own, and updates of tables beside them.
    fn turn(&mut self, length: Duration) -> Result<Turn, BenchError> {
        let Some((mut writer, interval)) = self.writer.take() else {
            return Ok(self.packets(length));
        };
        let ended = AtomicBool::new(false);
        let (turn, written) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| write_until(&ended, &mut writer, interval));
            let turn = self.packets(length);
            ended.store(true, Ordering::Relaxed);
            (turn, writing.join().expect("writers do not panic"))
        });
        self.writer = Some((writer, interval));
        written.map_err(BenchError::Entries)?;
        Ok(turn)
    }

    /// All workers at once.
    fn packets(&mut self, length: Duration) -> Turn {
        let start = Barrier::new(self.workers.len());
        // Where the system does not let us choose, it is merely less steady.
        let processors = allowed_processors().unwrap_or_default();
        std::thread::scope(|scope| {
            let threads = self.workers.iter_mut().enumerate().map(|(index, work)| {
                let (start, processor) = (&start, processors.get(index).copied());
                scope.spawn(move || {
                    let _ = processor.map(pin_to_processor);
                    start.wait();
                    run(&mut **work, length)
                })
            });
            let threads: Vec<_> = threads.collect();
            let turns = threads
                .into_iter()
                .map(|thread| thread.join().expect("workers do not panic"));
            let workers = turns.len() as f64;
            turns.fold(Turn::default(), |sum, turn| Turn {
                received_per_s: sum.received_per_s + turn.received_per_s,
                transmitted_per_s: sum.transmitted_per_s + turn.transmitted_per_s,
                processor_share: sum.processor_share + turn.processor_share / workers,
            })
        })
    }
}

/// An update in every interval.
fn write_until(ended: &AtomicBool, writer: &mut Writer, interval: Duration) -> Result<(), String> {
    let mut due = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        writer()?;
        due += interval;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Runs one worker for the time `length`. A second is a second of the thread on its processor: nothing here waits, so
/// on an idle machine it is one on the wall too, and on a busy one the threads of others are not counted.
fn run(work: &mut dyn Work, length: Duration) -> Turn {
    let before = work.books().transmitted;
    let (begin, begin_of_thread) = (Instant::now(), thread_time());
    let (mut received, mut elapsed) = (0, Duration::ZERO);
    while elapsed < length {
        for _ in 0..POLLS_BETWEEN_LOOKS {
            received += work.poll(elapsed.as_nanos() as u64);
        }
        elapsed = begin.elapsed();
    }
    let seconds = (thread_time() - begin_of_thread).as_secs_f64();
    let transmitted = work.books().transmitted - before;
    Turn {
        received_per_s: received as f64 / seconds,
        transmitted_per_s: transmitted as f64 / seconds,
        processor_share: seconds / elapsed.as_secs_f64(),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => (values[(count - 1) / 2] + values[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
        assert_eq!(median([].into_iter()), 0.0);
    }
}
