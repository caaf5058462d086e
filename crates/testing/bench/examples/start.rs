//! How long a program takes from its source to packets:
//! `cargo run --release -p forebay-bench --example start -- FILE.p4` prints milliseconds until the interpreter takes
//! them, until machine code does, and until machine code of the fast path does; medians of eleven.

use forebay_driver::{Options as FrontEnd, compile};
use forebay_pipeline::{Engine, FastPath, Options, Pipeline};
use std::error::Error;
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("say which program: FILE.p4")?;
    let ways = [
        ("interpreter", Engine::Interpreter, FastPath::Never),
        ("machine code", Engine::Jit, FastPath::BesidePackets),
        ("fast path", Engine::Jit, FastPath::BeforePackets),
    ];
    for (name, engine, fast_path) in ways {
        let options = Options {
            engine,
            fast_path,
            ..Options::default()
        };
        let times = (0..ROUNDS).map(|_| start(&path, options));
        let mut times = times.collect::<Result<Vec<_>, _>>()?;
        times.sort();
        println!("{name}: {:.1} ms", times[ROUNDS / 2].as_secs_f64() * 1e3);
    }
    Ok(())
}

/// From the source to a pipeline that takes packets.
fn start(path: &str, options: Options) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let compiled = compile(path, &FrontEnd::new(&read));
    let program = compiled.program.ok_or("it has errors: see `forebay check`")?;
    let pipeline = Pipeline::load_with(program, options)?;
    let elapsed = begin.elapsed();
    pipeline.finish_compiling();
    Ok(elapsed)
}
