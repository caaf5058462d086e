//! Rules of a chip that a scenario or a test file must keep, or lift by name with a reason: the program fits its stages
//! and parsers, a packet is resubmitted no more often than the chip permits, and registers belong to a pipeline.

use crate::results::Lifted;
use forebay_chip::{ChipSpec, ParserNeeds};
use forebay_ir::Program;
use forebay_stages::Machine;
use std::ops::Range;
use toml::Spanned;

/// Keys that lift rules, as a file has them, with their places in it.
pub struct RuleKeys<'a> {
    /// Where the chip is named.
    pub spec: Range<usize>,
    /// Where the program is named.
    pub program: Range<usize>,
    /// The program need not fit.
    pub ignore_fit: bool,
    /// Why not.
    pub ignore_fit_reason: Option<&'a Spanned<String>>,
    /// How often a packet may be resubmitted, in place of the chip's own rule; 0: as often as the program likes.
    pub max_resubmissions: Option<&'a Spanned<u32>>,
    /// Why.
    pub max_resubmissions_reason: Option<&'a Spanned<String>>,
    /// Bytes that an egress parser can read, in place of the chip's own rule; 0: all.
    pub max_egress_bytes: Option<&'a Spanned<u32>>,
    /// Why.
    pub max_egress_bytes_reason: Option<&'a Spanned<String>>,
    /// Registers and meters are those of the whole chip.
    pub shared_registers: bool,
    /// Why.
    pub shared_registers_reason: Option<&'a Spanned<String>>,
}

/// What is wrong, with its place in the file.
pub type Mistakes = Vec<(Range<usize>, String)>;

/// The rules that are lifted for a chip; its specification is changed accordingly. `ignore_fit` is the caller's reason
/// to run programs that do not fit. Rules that are broken and not lifted are added to the mistakes.
pub fn lifted(
    keys: &RuleKeys<'_>,
    spec: &mut ChipSpec,
    program: &Program,
    ignore_fit: Option<&str>,
    mistakes: &mut Mistakes,
) -> Vec<Lifted> {
    empty_reasons(keys, mistakes);
    let mut lifted = Vec::new();
    lifted.extend(fit(keys, spec, program, ignore_fit, mistakes));
    lifted.extend(resubmissions(keys, spec, mistakes));
    lifted.extend(egress_parser(keys, spec, program, mistakes));
    lifted.extend(registers(keys, spec, mistakes));
    lifted
}

/// A reason that says nothing is none.
fn empty_reasons(keys: &RuleKeys<'_>, mistakes: &mut Mistakes) {
    let reasons = [
        ("ignore_fit_reason", keys.ignore_fit_reason),
        ("max_resubmissions_reason", keys.max_resubmissions_reason),
        ("max_egress_bytes_reason", keys.max_egress_bytes_reason),
        ("shared_registers_reason", keys.shared_registers_reason),
    ];
    for (key, reason) in reasons {
        if let Some(reason) = reason.filter(|reason| reason.get_ref().trim().is_empty()) {
            mistakes.push((reason.span(), format!("{key} is empty; it stands in the results")));
        }
    }
}

/// How often a program's registers and meters exist in a chip: once for each pipeline, where they belong to one.
pub fn states(spec: &ChipSpec, program: &Program) -> u16 {
    let keeps_state = !program.registers.is_empty() || !program.meters.is_empty();
    if spec.pipelines.own_registers && keeps_state {
        spec.pipelines.count
    } else {
        1
    }
}

fn fit(
    keys: &RuleKeys<'_>,
    spec: &ChipSpec,
    program: &Program,
    ignore_fit: Option<&str>,
    mistakes: &mut Mistakes,
) -> Option<Lifted> {
    let own = keys.ignore_fit_reason;
    if keys.ignore_fit && own.is_none() {
        mistakes.push((
            keys.program.clone(),
            "ignore_fit needs a reason: ignore_fit_reason = \"...\"".to_string(),
        ));
    }
    let machine = Machine::named(spec.stages.as_deref()?);
    let report = match machine {
        Ok(machine) => forebay_stages::report(program, &machine),
        Err(error) => {
            mistakes.push((keys.spec.clone(), format!("stages of {}: {error}", spec.name)));
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
    let own = own.filter(|_| keys.ignore_fit).map(|reason| reason.get_ref().as_str());
    match own.or(ignore_fit) {
        Some(reason) => Some(Lifted {
            rule: format!("the program fits {}: it does not ({why})", spec.name),
            reason: reason.to_string(),
        }),
        None => {
            mistakes.push((
                keys.program.clone(),
                format!(
                    "the program does not fit {}: {why}. `forebay build --chip {}` says more; --ignore-fit, or ignore_fit = true with ignore_fit_reason, times it all the same",
                    spec.name, spec.name
                )));
            None
        }
    }
}

fn resubmissions(keys: &RuleKeys<'_>, spec: &mut ChipSpec, mistakes: &mut Mistakes) -> Option<Lifted> {
    let own = spec.parser.max_resubmissions;
    let (max, reason) = match (keys.max_resubmissions, keys.max_resubmissions_reason) {
        (Some(max), Some(reason)) => (*max.get_ref(), reason.get_ref().clone()),
        (None, None) => return None,
        (Some(max), None) => return missing(mistakes, max.span(), "max_resubmissions_reason"),
        (None, Some(reason)) => return missing(mistakes, reason.span(), "max_resubmissions"),
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

fn egress_parser(
    keys: &RuleKeys<'_>,
    spec: &mut ChipSpec,
    program: &Program,
    mistakes: &mut Mistakes,
) -> Option<Lifted> {
    let own = spec.parser.max_egress_bytes;
    let fits = |most: u32, bytes: u32| most == 0 || bytes <= most;
    let bytes = ParserNeeds::of(spec, program).egress_bytes;
    let reason = match (keys.max_egress_bytes, keys.max_egress_bytes_reason) {
        (Some(max), Some(reason)) => {
            spec.parser.max_egress_bytes = *max.get_ref();
            Some(reason.get_ref().clone())
        }
        (None, None) => None,
        (Some(max), None) => return missing(mistakes, max.span(), "max_egress_bytes_reason"),
        (None, Some(reason)) => return missing(mistakes, reason.span(), "max_egress_bytes"),
    };
    if !fits(spec.parser.max_egress_bytes, bytes) {
        mistakes.push((
            keys.program.clone(),
            format!(
                "egress uses headers up to byte {bytes} of a packet, and the egress parser of {} reads {} bytes; max_egress_bytes lifts the rule, with a max_egress_bytes_reason",
                spec.name, spec.parser.max_egress_bytes
            )));
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

fn registers(keys: &RuleKeys<'_>, spec: &mut ChipSpec, mistakes: &mut Mistakes) -> Option<Lifted> {
    let reason = match (keys.shared_registers, keys.shared_registers_reason) {
        (true, Some(reason)) => reason.get_ref().clone(),
        (false, None) => return None,
        (true, None) => return missing(mistakes, keys.program.clone(), "shared_registers_reason"),
        (false, Some(reason)) => return missing(mistakes, reason.span(), "shared_registers"),
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

fn missing<T>(mistakes: &mut Mistakes, place: Range<usize>, key: &str) -> Option<T> {
    mistakes.push((
        place,
        format!("the key {key} is missing: a rule of a chip is lifted with a reason"),
    ));
    None
}
