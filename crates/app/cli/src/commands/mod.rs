//! The subcommands.

mod allocate;
mod bench;
mod build;
mod check;
mod collect;
mod completions;
mod ctl;
mod demo;
mod doctor;
mod experiment;
mod explain;
mod function;
mod man;
pub mod p4c;
mod run;
mod sim;
pub mod simple_switch;
pub mod simple_switch_cli;
mod state;
mod test;
mod tester;
mod tester_serve;
mod trace;
mod traffic;
mod upf;
mod vnf;

use crate::working::while_working;
use anyhow::Result;
use clap::Subcommand;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All is well.
    Good,
    /// The check failed: the program has errors, a test failed.
    Bad,
    /// The command could not be executed: usage, files, interfaces, rights, a test that does not suit the program.
    Unable,
}

impl Status {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Status::Good => 0,
            Status::Bad => 1,
            Status::Unable => 2,
        }
    }
}

/// The subcommands with their arguments.
#[derive(Subcommand)]
pub enum Command {
    /// Check a program and report its errors and warnings
    Check(check::Arguments),
    /// Compile a program: P4Info, intermediate representation, graphs
    Build(build::Arguments),
    /// Run STF tests against a program, in memory
    Test(test::Arguments),
    /// Run a program as a switch between interfaces
    Run(Box<run::Arguments>),
    /// Run a program with the command line of BMv2's simple_switch_grpc, or with --no-grpc of simple_switch
    SimpleSwitch(Box<crate::simple_switch::Arguments>),
    /// The commands of BMv2's simple_switch_CLI, to a switch that serves Thrift
    #[command(name = "simple-switch-cli")]
    SimpleSwitchCli(simple_switch_cli::Arguments),
    /// Control a running switch: tables, counters, registers, groups, packets
    Ctl(ctl::Arguments),
    /// Look at what --save-state has written, and repair it
    State(state::Arguments),
    /// Send traffic to a program, a switch or a chip, and measure every frame that comes back
    Tester(tester::Arguments),
    /// Show step by step what a program does with packets
    Trace(trace::Arguments),
    /// Measure how fast packets go through a program, beside the same function written by hand
    Bench(bench::Arguments),
    /// List network functions, or run one by its name
    Function(function::Arguments),
    /// Speak PFCP with SMFs, and control a switch that runs functions/upf
    Upf(upf::Arguments),
    /// Receive Telemetry Reports of INT: keep, analyse and query them
    Collect(Box<collect::Arguments>),
    /// Say what this host lacks for running switches, why it matters, and how to mend it
    Doctor(doctor::Arguments),
    /// Bring a network function up between two interfaces, look at it, measure it, take it down
    Vnf(vnf::Arguments),
    /// Show IoT messages aggregated by one switch and disaggregated by another, over virtual Ethernet
    Demo(demo::Arguments),
    /// Send and receive test traffic through ordinary sockets
    Traffic(traffic::Arguments),
    /// Simulate scenarios on a timed model of switch silicon
    Sim(sim::Arguments),
    /// Published tables and figures beside what the timed model says
    Experiment(experiment::Arguments),
    /// Place network functions in the pipelines of a switch chip, so that packets recirculate least
    Allocate(allocate::Arguments),
    /// Explain the code of an error or a warning
    Explain(explain::Arguments),
    /// Print what a shell needs to complete command lines
    Completions(completions::Arguments),
    /// Write manual pages
    Man(man::Arguments),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<Status> {
        match self {
            Command::Check(arguments) => while_working("checking", || check::run(&arguments)),
            Command::Build(arguments) => while_working("compiling", || build::run(&arguments)),
            Command::Test(arguments) => while_working("testing", || test::run(&arguments)),
            Command::Run(arguments) => run::run(&arguments),
            Command::SimpleSwitch(arguments) => simple_switch::run(&arguments),
            Command::SimpleSwitchCli(arguments) => simple_switch_cli::run(&arguments),
            Command::Ctl(arguments) => ctl::run(&arguments),
            Command::State(arguments) => while_working("reading the state", || state::run(&arguments)),
            Command::Tester(arguments) => tester::run(&arguments),
            Command::Trace(arguments) => while_working("tracing", || trace::run(&arguments)),
            Command::Bench(arguments) => bench::run(&arguments),
            Command::Function(arguments) => function::run(&arguments),
            Command::Upf(arguments) => upf::run(&arguments),
            Command::Collect(arguments) => collect::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Vnf(arguments) => vnf::run(&arguments),
            Command::Demo(arguments) => demo::run(&arguments),
            Command::Traffic(arguments) => traffic::run(&arguments),
            Command::Sim(arguments) => sim::run(&arguments),
            Command::Experiment(arguments) => experiment::run(&arguments),
            Command::Allocate(arguments) => while_working("searching", || allocate::run(&arguments)),
            Command::Explain(arguments) => explain::run(&arguments),
            Command::Completions(arguments) => completions::run(&arguments),
            Command::Man(arguments) => man::run(&arguments),
        }
    }
}
