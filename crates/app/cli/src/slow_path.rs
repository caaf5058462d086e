//! What keeps packets of a program off the fast path, and how many took which path, in words and as JSON.

use forebay_pipeline::{Obstacle, ObstacleKind, PathCounters, Pipeline, Stops};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Obstacles that a message lists.
const LISTED_MAX: usize = 20;

/// Where packets go that specialised code does not take to their end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    GeneralCode,
    SlowPath,
}

impl Elsewhere {
    const ALL: [Elsewhere; 2] = [Elsewhere::GeneralCode, Elsewhere::SlowPath];

    fn of(obstacle: &Obstacle) -> Elsewhere {
        match obstacle.kind {
            ObstacleKind::Leaves | ObstacleKind::Copies => Elsewhere::SlowPath,
            _ => Elsewhere::GeneralCode,
        }
    }

    /// How many times as long a packet takes there at least. These are numbers of small programs; in general code, 16
    /// were measured for large ones.
    fn times_slower(self) -> u32 {
        match self {
            Elsewhere::GeneralCode => 4,
            Elsewhere::SlowPath => 10,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Elsewhere::GeneralCode => "general code",
            Elsewhere::SlowPath => "slow path",
        }
    }
}

/// The obstacles of a program as notes for people, without "note: "; none when specialised code takes all packets.
pub fn notes(pipeline: &Pipeline) -> Vec<String> {
    let obstacles = pipeline.obstacles();
    let sentences = |stops, elsewhere| -> Vec<String> {
        let is_one = |obstacle: &&Obstacle| obstacle.stops == stops && Elsewhere::of(obstacle) == elsewhere;
        let of_kind = obstacles.iter().filter(is_one);
        of_kind.map(|obstacle| obstacle.describe(pipeline.program())).collect()
    };
    let kinds = [(Stops::All, ""), (Stops::Some, " for some packets")];
    let kinds = kinds
        .into_iter()
        .flat_map(|kind| Elsewhere::ALL.map(|elsewhere| (kind, elsewhere)));
    let notes = kinds.map(|((stops, which), elsewhere)| {
        let sentences = sentences(stops, elsewhere);
        let (words, times) = (elsewhere.words(), elsewhere.times_slower());
        let listed = (!sentences.is_empty()).then(|| listed(&sentences))?;
        Some(format!("{words}{which}, {times} times slower or more:{listed}"))
    });
    notes.flatten().collect()
}

/// One after the colon, several below it.
fn listed(sentences: &[String]) -> String {
    if let [only] = sentences {
        return format!(" {only}");
    }
    let mut lines: String = sentences
        .iter()
        .take(LISTED_MAX)
        .map(|sentence| format!("\n  {sentence}"))
        .collect();
    if sentences.len() > LISTED_MAX {
        let _ = write!(lines, "\n  and {} more", sentences.len() - LISTED_MAX);
    }
    lines
}

/// The obstacles as a list of objects.
pub fn json(pipeline: &Pipeline) -> Value {
    let program = pipeline.program();
    let object = |obstacle: &Obstacle| {
        let file = program.files.get(obstacle.location.file as usize);
        let is_known = obstacle.location.line > 0;
        json!({
            "kind": obstacle.kind.name(),
            "all_packets": obstacle.stops == Stops::All,
            "file": file.filter(|_| is_known),
            "line": is_known.then_some(obstacle.location.line),
            "message": obstacle.describe(program),
            "path": Elsewhere::of(obstacle).words(),
            "times_slower": Elsewhere::of(obstacle).times_slower(),
        })
    };
    pipeline.obstacles().iter().map(object).collect()
}

/// How many packets took which path, for people.
pub fn paths_text(paths: &PathCounters) -> String {
    let of = |counts: Vec<(&str, u64)>| {
        let total: u64 = counts.iter().map(|(_, packets)| packets).sum();
        let parts: Vec<String> = counts
            .iter()
            .filter(|(_, packets)| *packets > 0)
            .map(|(words, packets)| format!("{packets} {words}"))
            .collect();
        if parts.is_empty() {
            total.to_string()
        } else {
            format!("{total} ({})", parts.join(", "))
        }
    };
    let fast = of(paths.fast().map(|(form, packets)| (form.words(), packets)).collect());
    let slow = of(paths
        .slow()
        .map(|(reason, packets)| (reason.words(), packets))
        .collect());
    let further = paths.further_passes;
    let again = match further.total() {
        0 => String::new(),
        _ => format!(
            "; further passes: {} of resubmitted and {} of recirculated packets, {} of them on the fast path",
            further.resubmitted, further.recirculated, further.fast
        ),
    };
    format!("packets on the fast path: {fast}; on the slow path: {slow}{again}\n")
}

/// The same as an object. Reasons without packets are left out.
pub fn paths_json(paths: &PathCounters) -> Value {
    let fast: Map<String, Value> = paths
        .fast()
        .map(|(form, packets)| (form.name().to_owned(), json!(packets)))
        .collect();
    let slow: Map<String, Value> = paths
        .slow()
        .filter(|(_, packets)| *packets > 0)
        .map(|(reason, packets)| (reason.name().to_owned(), json!(packets)))
        .collect();
    json!({
        "fast_packets": fast,
        "slow_packets": slow,
        "flow_cache_misses": paths.flow_misses,
        "further_passes": {
            "resubmitted": paths.further_passes.resubmitted,
            "recirculated": paths.further_passes.recirculated,
            "fast": paths.further_passes.fast,
        },
    })
}
