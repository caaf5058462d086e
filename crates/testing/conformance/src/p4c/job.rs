//! Programs as child processes, two at a time.

use super::corpus::{Category, Job};
use super::record::{Outcome, Outcomes};
use super::{Arguments, Engine, worker};
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Arguments of the hidden command that handles one program.
#[derive(clap::Args)]
pub struct WorkerArguments {
    /// What is asked
    #[arg(long, value_enum)]
    category: Category,
    /// The program
    #[arg(long)]
    program: PathBuf,
    /// STF test or expected P4Info
    #[arg(long)]
    companion: Option<PathBuf>,
    /// The checkout of p4c
    #[arg(long)]
    p4c: PathBuf,
    /// What executes the program
    #[arg(long, value_enum)]
    engine: Engine,
}

/// Exit code of a worker whose program is not as it should be; the reason is on its standard output.
const NOT_FINE: u8 = 1;

/// The child process: one program.
pub fn run_worker(arguments: &WorkerArguments) -> Result<ExitCode> {
    let companion = arguments.companion.as_deref();
    let result = worker::run(
        arguments.category,
        &arguments.program,
        companion,
        &arguments.p4c,
        arguments.engine,
    )?;
    Ok(match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // A record is the same wherever the checkout is.
            let folder = arguments.p4c.join("").display().to_string();
            println!("{}", reason.replace(&folder, ""));
            ExitCode::from(NOT_FINE)
        }
    })
}

/// Every program of a category.
pub fn run_all(category: Category, jobs: &[Job], arguments: &Arguments) -> Result<Outcomes> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Outcomes::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| -> Result<()> {
        let mut handles = Vec::new();
        for _ in 0..threads {
            handles.push(scope.spawn(|| -> Result<()> {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_one(category, job, arguments)?;
                    let mut outcomes = outcomes.lock().expect("no thread panics while it holds the lock");
                    outcomes.insert(job.name.clone(), outcome);
                    progress(category, outcomes.len(), jobs.len());
                }
                Ok(())
            }));
        }
        for handle in handles {
            handle.join().expect("workers do not panic")?;
        }
        Ok(())
    })?;
    Ok(outcomes.into_inner().expect("all threads have ended"))
}

fn progress(category: Category, done: usize, all: usize) {
    if std::io::stderr().is_terminal() {
        let end = if done == all { "\r\x1b[K" } else { "" };
        eprint!("\r{category}: {done} of {all}{end}");
        let _ = std::io::stderr().flush();
    }
}

fn run_one(category: Category, job: &Job, arguments: &Arguments) -> Result<Outcome> {
    let mut command = Command::new(std::env::current_exe().context("cannot find the running program")?);
    command
        .args(["conformance-worker", "--category", category.name(), "--program"])
        .arg(&job.program);
    command.arg("--p4c").arg(&arguments.p4c);
    let engine = arguments.engine.to_possible_value().expect("no engine is hidden");
    command.args(["--engine", engine.get_name()]);
    if let Some(companion) = &job.companion {
        command.arg("--companion").arg(companion);
    }
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a worker")?;
    wait(child, Duration::from_secs(arguments.time_limit))
}

/// Waits for a child, reading what it prints, and ends it when the time is up.
fn wait(mut child: Child, time_limit: Duration) -> Result<Outcome> {
    let stdout = read_all(child.stdout.take().expect("stdout is piped"));
    let stderr = read_all(child.stderr.take().expect("stderr is piped"));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begin.elapsed() > time_limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let stdout = stdout.join().expect("reader threads do not panic");
    let stderr = stderr.join().expect("reader threads do not panic");
    Ok(status.map_or(Outcome::TimedOut, |status| outcome(status, stdout, stderr)))
}

fn read_all(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn outcome(status: ExitStatus, stdout: String, stderr: String) -> Outcome {
    match status.code() {
        Some(0) => Outcome::Fine,
        Some(code) if code == i32::from(NOT_FINE) => Outcome::Failed(stdout.trim().to_string()),
        _ => Outcome::Crashed(format!("{status}: {}", stderr.trim())),
    }
}
