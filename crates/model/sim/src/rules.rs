//! Rules of a chip that a scenario must keep, or lift by name with a reason: the program fits its stages and parsers, a packet is
//! resubmitted no more often than the chip permits, and registers belong to a pipeline.

use crate::results::Lifted;
use crate::scenario::ChipEntry;
use crate::setup::Reader;
use forebay_chip::{ChipSpec, ParserNeeds};
use forebay_ir::Program;
use forebay_stages::Machine;
use std::ops::Range;

/// The rules that are lifted for a chip; its specification is changed accordingly. `ignore_fit` is the caller's reason
/// to run programs that do not fit.
pub(crate) fn lifted(
    entry: &ChipEntry,
    spec: &mut ChipSpec,
    program: &Program,
    ignore_fit: Option<&str>,
    reader: &mut Reader<'_>,
) -> Vec<Lifted> {
    let mut lifted = Vec::new();
    lifted.extend(fit(entry, spec, program, ignore_fit, reader));
    lifted.extend(resubmissions(entry, spec, reader));
    lifted.extend(egress_parser(entry, spec, program, reader));
    lifted.extend(registers(entry, spec, reader));
    lifted
}

fn fit(
    entry: &ChipEntry,
    spec: &ChipSpec,
    program: &Program,
    ignore_fit: Option<&str>,
    reader: &mut Reader<'_>,
) -> Option<Lifted> {
    let own = entry.ignore_fit_reason.as_ref();
    if entry.ignore_fit && own.is_none() {
        reader.wrong(
            entry.program.span(),
            "ignore_fit needs a reason: ignore_fit_reason = \"...\"",
        );
    }
    let machine = Machine::named(spec.stages.as_deref()?);
    let report = match machine {
        Ok(machine) => forebay_stages::report(program, &machine),
        Err(error) => {
            reader.wrong(entry.spec.span(), format!("stages of {}: {error}", spec.name));
            return None;
        }
    };
    let parser = parser_rows(spec, program);
    if report.fits && parser.is_none() {
        return None;
    }
    let why = parser
        .as_deref()
        .or(report.problems.first().map(String::as_str))
        .unwrap_or("");
    let own = own.filter(|_| entry.ignore_fit).map(|reason| reason.get_ref().as_str());
    match own.or(ignore_fit) {
        Some(reason) => Some(Lifted {
            rule: format!("the program fits {}: it does not ({why})", spec.name),
            reason: reason.to_string(),
        }),
        None => {
            reader.wrong(
                entry.program.span(),
                format!(
                    "the program does not fit {}: {why}. `forebay build --chip {}` says more; --ignore-fit, or ignore_fit = true with ignore_fit_reason, times it all the same",
                    spec.name, spec.name
                ),
            );
            None
        }
    }
}

fn resubmissions(entry: &ChipEntry, spec: &mut ChipSpec, reader: &mut Reader<'_>) -> Option<Lifted> {
    let own = spec.parser.max_resubmissions;
    let (max, reason) = match (&entry.max_resubmissions, &entry.max_resubmissions_reason) {
        (Some(max), Some(reason)) => (*max.get_ref(), reason.get_ref().clone()),
        (None, None) => return None,
        (Some(max), None) => return missing(reader, max.span(), "max_resubmissions_reason"),
        (None, Some(reason)) => return missing(reader, reason.span(), "max_resubmissions"),
    };
    spec.parser.max_resubmissions = max;
    let stricter = own == 0 || (max != 0 && max <= own);
    let times = |count: u32| match count {
        0 => "as often as the program likes".to_string(),
        1 => "once".to_string(),
        count => format!("{count} times"),
    };
    (!stricter).then(|| Lifted {
        rule: format!(
            "{} resubmits a packet at most {}: here {}",
            spec.name,
            times(own),
            times(max)
        ),
        reason,
    })
}

/// Why a program has more parser states than a parser holds.
fn parser_rows(spec: &ChipSpec, program: &Program) -> Option<String> {
    let rows = ParserNeeds::of(spec, program).tcam_rows;
    let most = spec.parser.tcam_rows;
    (most > 0 && rows > most).then(|| format!("a parser needs {rows} rows of its TCAM, which has {most}"))
}

fn egress_parser(entry: &ChipEntry, spec: &mut ChipSpec, program: &Program, reader: &mut Reader<'_>) -> Option<Lifted> {
    let own = spec.parser.max_egress_bytes;
    let fits = |most: u32, bytes: u32| most == 0 || bytes <= most;
    let bytes = ParserNeeds::of(spec, program).egress_bytes;
    let reason = match (&entry.max_egress_bytes, &entry.max_egress_bytes_reason) {
        (Some(max), Some(reason)) => {
            spec.parser.max_egress_bytes = *max.get_ref();
            Some(reason.get_ref().clone())
        }
        (None, None) => None,
        (Some(max), None) => return missing(reader, max.span(), "max_egress_bytes_reason"),
        (None, Some(reason)) => return missing(reader, reason.span(), "max_egress_bytes"),
    };
    if !fits(spec.parser.max_egress_bytes, bytes) {
        reader.wrong(
            entry.program.span(),
            format!(
                "egress uses headers up to byte {bytes} of a packet, and the egress parser of {} reads {} bytes; max_egress_bytes of the [[chip]] lifts the rule, with a max_egress_bytes_reason",
                spec.name, spec.parser.max_egress_bytes
            ),
        );
        return None;
    }
    (!fits(own, bytes)).then(|| Lifted {
        rule: format!(
            "the egress parser of {} reads at most {own} bytes: here {bytes}",
            spec.name
        ),
        reason: reason.unwrap_or_default(),
    })
}

fn registers(entry: &ChipEntry, spec: &mut ChipSpec, reader: &mut Reader<'_>) -> Option<Lifted> {
    let reason = match (entry.shared_registers, &entry.shared_registers_reason) {
        (true, Some(reason)) => reason.get_ref().clone(),
        (false, None) => return None,
        (true, None) => return missing(reader, entry.program.span(), "shared_registers_reason"),
        (false, Some(reason)) => return missing(reader, reason.span(), "shared_registers"),
    };
    let own = std::mem::replace(&mut spec.pipelines.own_registers, false);
    own.then(|| Lifted {
        rule: format!(
            "each pipeline of {} has registers and meters of its own: here all share one set",
            spec.name
        ),
        reason,
    })
}

fn missing<T>(reader: &mut Reader<'_>, place: Range<usize>, key: &str) -> Option<T> {
    reader.wrong(
        place,
        format!("the key {key} is missing: a rule of a chip is lifted with a reason"),
    );
    None
}
