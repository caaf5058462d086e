//! Tables of what must stay below a bound: what others see of a siege (`docs/siege.json`), how long large programs are
//! compiled (`benches/compile_time.json`), and what the Python package costs (`benches/python_package.json`).

use super::grouped;
use serde_json::Value;

/// The steps of `make siege`, in order.
const STEPS: &[(&str, &str)] = &[
    ("push", "a program of 200,000 const entries is pushed"),
    ("registers", "1,000 registers of 64 MB are pushed"),
    ("idle", "250,000 entries with time-outs of 1 s run out"),
    ("halves", "12 connections hold 36 half-sent messages of 100 MB"),
    ("deaf", "a primary does not read"),
    (
        "reads",
        "a table of 10,000 entries is read 100 times at once, again and again",
    ),
    ("entries", "a million entries are written"),
];

/// What another client and a pair of interfaces see meanwhile.
pub(super) fn siege(record: &Value) -> String {
    let siege = &record["siege"];
    let mut text = format!(
        "Measured on {}; the load was {} at the end.\n\n",
        siege["date"].as_str().unwrap_or("?"),
        siege["machine"]["load"],
    );
    text += "| meanwhile | 99 of 100 answers, ms | longest, ms | packets | lost | longest way of a packet, ms | memory, MB |\n";
    text += "|---|---|---|---|---|---|---|\n";
    for (name, title) in STEPS {
        let step = &siege["steps"][name];
        // A record may be older than the step.
        if step.is_null() {
            continue;
        }
        text += &format!(
            "| {title} | {} | {} | {} | {} | {} | {} |\n",
            step["answer_99_of_100_ms"],
            step["answer_longest_ms"],
            grouped(&step["packets"]),
            known(&step["packets_lost"]),
            step["packet_longest_ms"],
            grouped(&step["memory_mb"]),
        );
    }
    let (idle, entries) = (&siege["steps"]["idle"], &siege["steps"]["entries"]);
    text += &format!(
        "\n250,000 inserts take {} s without time-outs and {} s with them. A million entries of a 48-bit key with a 9-bit port, in a \
         switch of their own, take {} s and {} bytes each.\n",
        idle["insert_s"], idle["insert_with_time_out_s"], entries["insert_s"], entries["bytes_each"],
    );
    text
}

/// A number, or a dash where the record has none.
fn known(number: &Value) -> String {
    if number.is_null() {
        "–".to_string()
    } else {
        grouped(number)
    }
}

/// How long `forebay build` takes for programs that are large in one direction.
pub(super) fn compile_time(record: &Value) -> String {
    let record = &record["compile_time"];
    let mut text = format!(
        "Measured on {} with `{}`; load {}; medians of {} rounds.\n\n| program | `forebay build`, s | processor time, s | bound, s | memory, MB |\n|---|---|---|---|---|\n",
        record["date"].as_str().unwrap_or("?"),
        record["version"].as_str().unwrap_or("?"),
        record["load"],
        record["rounds"],
    );
    for row in record["programs"].as_array().into_iter().flatten() {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            row["program"].as_str().unwrap_or("?"),
            row["median_s"],
            row["processor_s"],
            row["bound_s"],
            grouped(&row["memory_mb"]),
        );
    }
    text
}

/// What the Python package costs: batches beside `forebay bench`, sweeps by two processes, memory.
pub(super) fn python(record: &Value) -> String {
    let record = &record["python"];
    let (batch, sweep, memory) = (&record["batch"], &record["sweep"], &record["memory"]);
    let first = &memory["peak_mib"][0];
    let last = memory["peak_mib"].as_array().and_then(|peaks| peaks.last());
    let rows = [
        (
            batch,
            format!(
                "a batch of {} packets, over `forebay bench` with the same packets",
                grouped(&batch["packets"])
            ),
            format!(
                "{} ({} s and {} s)",
                batch["ratio"], batch["seconds"], batch["bench_seconds"]
            ),
            "at most 1.3".to_string(),
        ),
        (
            batch,
            "the same into memory of an earlier result (`out=`)".to_string(),
            format!(
                "{} ({} s and {} s)",
                batch["ratio_out"], batch["seconds_out"], batch["bench_seconds"]
            ),
            "at most 1.3".to_string(),
        ),
        (
            sweep,
            format!(
                "a sweep of {} points by one process, over two",
                grouped(&sweep["points"])
            ),
            format!(
                "{} ({} s and {} s)",
                sweep["ratio"], sweep["seconds_1"], sweep["seconds_2"]
            ),
            "at least 1.8".to_string(),
        ),
        (
            memory,
            format!(
                "most memory over {} programs, compiled and loaded",
                grouped(&memory["programs"])
            ),
            format!(
                "{} MiB; after a tenth of them {first} MiB",
                last.unwrap_or(&Value::Null)
            ),
            "flat".to_string(),
        ),
    ];
    let mut text = "| what | measured | bound | on | load before |\n|---|---|---|---|---|\n".to_string();
    for (part, what, measured, bound) in rows {
        text += &format!(
            "| {what} | {measured} | {bound} | {}, {} | {} |\n",
            part["date"].as_str().unwrap_or("?"),
            part["machine"]["processor"].as_str().unwrap_or("?"),
            part["load_before"],
        );
    }
    text
}
