//! How many passes of packets through pipelines the timed model simulates in a second: a scenario, run three times.
//!
//! ```text
//! cargo run --release -p forebay-sim --example passes -- experiments/p4qrs-figure-7/scenario.toml GBPS=80 TRIAL=20000
//! ```

use forebay_driver::FileSources;
use forebay_ir::Program;
use forebay_sim::{Library, Run, Setup, Silent, expand};
use std::path::{Path, PathBuf};

/// Files beside the scenario.
struct Beside(PathBuf);

impl Library for Beside {
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String> {
        let provider = FileSources::new();
        let options = forebay_driver::Options {
            provider: &provider,
            include_paths: &[],
            defines,
        };
        let compiled = forebay_driver::compile(&self.0.join(path).to_string_lossy(), &options);
        compiled.program.ok_or_else(|| format!("{path} has errors"))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join(path)).map_err(|error| error.to_string())
    }
}

/// Time that the processor has spent on this thread; on Linux.
fn processor_seconds() -> Result<f64, String> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    Ok(nanoseconds.ok_or_else(|| format!("{path} does not begin with a time"))? / 1e9)
}

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().ok_or("name a scenario")?;
    let given: Vec<(String, String)> = arguments
        .filter_map(|argument| {
            argument
                .split_once('=')
                .map(|(name, value)| (name.to_string(), value.to_string()))
        })
        .collect();
    let text = std::fs::read_to_string(&scenario).map_err(|error| format!("{scenario}: {error}"))?;
    let cases = expand(&text, &given).map_err(|problem| format!("{scenario}:{problem}"))?;
    let folder = Path::new(&scenario).parent().unwrap_or(Path::new("")).to_path_buf();
    let setup =
        Setup::new(&cases[0].text, &Beside(folder)).map_err(|problems| format!("{scenario}:{}", problems[0]))?;
    for _ in 0..3 {
        let started = processor_seconds()?;
        let results = setup.run(Run { seed: 1, gbps: None }, &mut Silent);
        let seconds = processor_seconds()? - started;
        let (passes, events) = (results.packet_passes as f64 / 1e6, results.events as f64 / 1e6);
        println!(
            "{:.2} million passes, {:.2} million events in {seconds:.3} s of the processor: {:.2} million passes a second",
            passes,
            events,
            passes / seconds
        );
    }
    Ok(())
}
