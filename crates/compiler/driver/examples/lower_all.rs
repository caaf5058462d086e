//! Compiles P4 programs and says of each whether it could be, how large it became and how long it took.
//!
//! `cargo run --example lower_all -- [-I FOLDER]... [--print] [--warnings] PROGRAM.p4...`; `--print` prints the IR as
//! text, `--warnings` the warnings about programs that could be compiled.

use forebay_driver::{Options, compile};
use forebay_syntax::render;
use std::time::Instant;

fn main() {
    let mut include_paths = Vec::new();
    let mut programs = Vec::new();
    let mut print = false;
    let mut warnings = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-I" => include_paths.extend(arguments.next()),
            "--print" => print = true,
            "--warnings" => warnings = true,
            _ => programs.push(argument),
        }
    }
    let provider = |path: &str| std::fs::read_to_string(path).ok();
    let mut options = Options::new(&provider);
    options.include_paths = &include_paths;
    let mut failures = 0;
    for program in &programs {
        let started = Instant::now();
        let compiled = compile(program, &options);
        let duration = started.elapsed();
        let Some(ir) = compiled.program else {
            failures += 1;
            println!(
                "{program}:\n{}",
                render::render_all(&compiled.diagnostics, &compiled.sources)
            );
            continue;
        };
        let errors = forebay_ir::verify::verify(&ir);
        if !errors.is_empty() {
            failures += 1;
            println!("{program}: the IR is wrong: {errors:?}");
            continue;
        }
        if warnings && !compiled.diagnostics.is_empty() {
            println!("{}", render::render_all(&compiled.diagnostics, &compiled.sources));
        }
        let blocks: usize = ir.bodies.iter().map(|body| body.blocks.len()).sum();
        println!(
            "{program}: {} slots, {blocks} blocks, {} tables, {duration:?}",
            ir.slots.len(),
            ir.tables.len()
        );
        if print {
            println!("{}", forebay_ir::text::write(&ir));
        }
    }
    println!("{} of {} programs compiled", programs.len() - failures, programs.len());
}
