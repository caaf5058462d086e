//! The result: for people ([`Report`] prints itself), and for programs (it can be serialised).

use crate::conditions::Conditions;
use crate::demand::Demand;
use crate::dependencies::{Dependency, Kind, dependencies, in_several_stages};
use crate::fields;
use crate::machine::Machine;
use crate::placement::{STAGES_MAX, Span, Taken, place, tails};
use crate::units::{Unit, units_of};
use crate::waits::{ControlWaits, waits};
use forebay_ir::{Body, Program, RegisterId, Role};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Whether a program fits a machine, and how.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The machine.
    pub machine: String,
    /// Whether it fits, in one pass.
    pub fits: bool,
    /// Passes that a packet would have to make; 0 when something fits no stage at all.
    pub passes: usize,
    /// Why it does not fit.
    pub problems: Vec<String>,
    /// What is taken of each stage; more than the machine has when it takes several passes.
    pub stages: Vec<Demand>,
    /// What stands where.
    pub placed: Vec<Placed>,
    /// The longest way of units that wait for one another, of one of the controls.
    pub critical_path: Vec<Step>,
    /// How the stages of each control wait for one another.
    pub waits: Vec<ControlWaits>,
    /// Bytes of fields in all controls.
    pub field_bytes: u32,
    /// Bytes that can be used for fields.
    pub field_bytes_max: u32,
    #[serde(skip)]
    pub(crate) description: Machine,
}

/// A unit on its stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Table, register, counter, or the place of operations in the source.
    pub name: String,
    /// `ingress` or `egress`; of PNA `pre` or `main`.
    pub control: &'static str,
    /// The first of its stages, from 0.
    pub first_stage: usize,
    /// The last of them.
    pub last_stage: usize,
    /// What it takes of them together.
    pub demand: Demand,
}

/// A step of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The unit.
    pub name: String,
    /// Its first stage.
    pub stage: usize,
    /// Why it stands after the step before: the kind of dependency, and the field.
    pub because: Option<(Kind, String)>,
}

/// The controls that stand on stages, and what they are called here.
const CONTROLS: [(Role, &str); 4] = [
    (Role::Ingress, "ingress"),
    (Role::Egress, "egress"),
    (Role::PreControl, "pre"),
    (Role::MainControl, "main"),
];

/// A control with its units.
struct Control {
    name: &'static str,
    units: Vec<Unit>,
    dependencies: Vec<Dependency>,
    spans: Vec<Span>,
}

impl Control {
    fn waits(&self, stages: usize) -> ControlWaits {
        waits(self.name, &self.units, &self.dependencies, &self.spans, stages)
    }
}

/// Maps a program that the verifier of `forebay-ir` accepts onto a machine.
pub fn report(program: &Program, machine: &Machine) -> Report {
    // What has no effect takes no stage either: `setValid()` writes fields that the program then writes itself.
    let mut program = program.clone();
    forebay_ir::passes::remove_dead_stores(&mut program);
    let mut mapping = Mapping {
        program: &program,
        machine,
        problems: Vec::new(),
        impossible: false,
        stages: Vec::new(),
        controls: Vec::new(),
        owners: BTreeMap::new(),
    };
    for (role, name) in CONTROLS {
        if let Some(body) = program.stage(role) {
            mapping.add(role, name, body);
        }
    }
    mapping.finish()
}

/// A program on its way onto the stages of a machine.
struct Mapping<'a> {
    program: &'a Program,
    machine: &'a Machine,
    problems: Vec<String>,
    /// Whether no number of passes is enough.
    impossible: bool,
    stages: Vec<Taken>,
    controls: Vec<Control>,
    /// By register: the first control that accesses it.
    owners: BTreeMap<RegisterId, &'static str>,
}

impl Mapping<'_> {
    /// Splits a control into units, and places these on the stages.
    fn add(&mut self, role: Role, name: &'static str, body: &Body) {
        let conditions = Conditions::of(body);
        let found = units_of(self.program, body, &conditions, self.machine.stage.register_alu_bits);
        // A PNA program of three blocks has no PreControl.
        if role == Role::PreControl && found.units.is_empty() {
            return;
        }
        let (dependencies, contradictions) = dependencies(self.program, &found.units, &conditions);
        let several = in_several_stages(self.program, &found.units, &dependencies);
        self.impossible |= !contradictions.is_empty() || !found.problems.is_empty() || !several.is_empty();
        self.problems.extend(found.problems);
        self.problems.extend(contradictions);
        self.problems.extend(several);
        self.claim_registers(name, &found.units);
        self.place(name, found.units, dependencies);
    }

    /// A register is in the stages of one control.
    fn claim_registers(&mut self, name: &'static str, units: &[Unit]) {
        for register in units.iter().flat_map(|unit| &unit.registers) {
            let other = *self.owners.entry(*register).or_insert(name);
            if other != name {
                self.impossible = true;
                let register = &self.program.registers[register.index()].name;
                let problem = format!("the register `{register}` is accessed in {other} and in {name}");
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
            }
        }
    }

    fn place(&mut self, name: &'static str, units: Vec<Unit>, dependencies: Vec<Dependency>) {
        match place(self.machine, &units, &dependencies, &mut self.stages) {
            Ok(spans) => self.controls.push(Control {
                name,
                units,
                dependencies,
                spans,
            }),
            Err(missing) => {
                self.impossible = true;
                let known = self.problems.len();
                let too_large = missing.iter().filter_map(|unit| too_large(self.machine, &units[*unit]));
                self.problems.extend(too_large);
                if self.problems.len() == known {
                    self.problems.push(no_order(&units, &missing, &dependencies));
                }
            }
        }
    }

    fn finish(self) -> Report {
        let Mapping {
            program,
            machine,
            mut problems,
            impossible,
            stages,
            controls,
            ..
        } = self;
        let passes = stages.len().div_ceil(machine.stages).max(1);
        if passes > 1 {
            problems.push(too_long(machine, &stages));
        }
        let field_bytes = controls
            .iter()
            .map(|control| fields::bytes(program, &control.units))
            .sum();
        if field_bytes > machine.fields.usable_bytes {
            problems.push(format!(
                "the fields of ingress and egress take {field_bytes} bytes of the packet header vector, of whose {} bytes {} can be used",
                machine.fields.bytes, machine.fields.usable_bytes
            ));
        }
        Report {
            machine: machine.name.clone(),
            fits: problems.is_empty(),
            passes: if impossible { 0 } else { passes },
            problems,
            stages: stages.iter().map(|taken| taken.demand).collect(),
            critical_path: critical_path(program, &controls),
            waits: controls.iter().map(|control| control.waits(machine.stages)).collect(),
            placed: controls.iter().flat_map(placed).collect(),
            field_bytes,
            field_bytes_max: machine.fields.usable_bytes,
            description: machine.clone(),
        }
    }
}

/// Why a unit fits no stage; nothing when only what it waits for does not.
fn too_large(machine: &Machine, unit: &Unit) -> Option<String> {
    let what = unit.demand.lacking(&machine.stage)?;
    Some(format!("`{}` wants more {what} than a stage has", unit.name))
}

/// Why units stand nowhere of which none takes more than a stage has.
fn no_order(units: &[Unit], missing: &[usize], dependencies: &[Dependency]) -> String {
    let mut circle = missing.to_vec();
    loop {
        let is_inside = |unit: &usize| {
            let leads = dependencies
                .iter()
                .any(|other| other.before == *unit && circle.contains(&other.after));
            leads
                && dependencies
                    .iter()
                    .any(|other| other.after == *unit && circle.contains(&other.before))
        };
        let inside: Vec<usize> = circle.iter().copied().filter(is_inside).collect();
        if inside.len() == circle.len() {
            break;
        }
        circle = inside;
    }
    let names: Vec<String> = circle.iter().map(|unit| format!("`{}`", units[*unit].name)).collect();
    match names.split_last() {
        None => format!("more than {STAGES_MAX} stages are needed"),
        Some((last, others)) => format!(
            "{} and {last} each need what the one before gives, in a circle: no order of stages suits all",
            others.join(", ")
        ),
    }
}

fn too_long(machine: &Machine, stages: &[Taken]) -> String {
    let wide = stages.iter().filter(|taken| taken.has_wide_register).count();
    let needed = stages.len();
    let registers = match wide {
        0 => String::new(),
        _ => {
            let bits = machine.stage.register_alu_bits;
            format!(", {wide} of them for registers wider than {bits} bits")
        }
    };
    format!("{needed} stages are needed{registers}; there are {}", machine.stages)
}

fn placed(control: &Control) -> Vec<Placed> {
    let units = control.units.iter().zip(&control.spans);
    units
        .map(|(unit, span)| Placed {
            name: unit.name.clone(),
            control: control.name,
            first_stage: span.first,
            last_stage: span.last,
            demand: unit.demand,
        })
        .collect()
}

/// Consecutive units, each with the reason.
type Way<'c> = Vec<(usize, Option<&'c Dependency>)>;

/// The longest of the longest ways of all controls.
fn critical_path(program: &Program, controls: &[Control]) -> Vec<Step> {
    let ways = controls
        .iter()
        .filter_map(|control| Some((control, longest_way(control)?)));
    let Some((control, (_, way))) = ways.max_by_key(|(_, (length, _))| *length) else {
        return Vec::new();
    };
    let step = |(unit, why): (usize, Option<&Dependency>)| Step {
        name: control.units[unit].name.clone(),
        stage: control.spans[unit].first,
        because: why.map(|dependency| (dependency.kind, program.slot(dependency.slot).name.clone())),
    };
    way.into_iter().map(step).collect()
}

/// From a unit that waits for none to the end; how many stages it takes.
fn longest_way(control: &Control) -> Option<(usize, Way<'_>)> {
    let tails = tails(&control.units, &control.dependencies);
    let mut present = (0..control.units.len()).max_by_key(|unit| (tails[*unit], std::cmp::Reverse(*unit)))?;
    let length = tails[present];
    let mut way = vec![(present, None)];
    loop {
        let rest = tails[present] - control.units[present].stages;
        let leads = |dependency: &&Dependency| {
            dependency.before == present && dependency.kind.is_strict() && tails[dependency.after] == rest
        };
        let Some(dependency) = control.dependencies.iter().find(leads).filter(|_| rest > 0) else {
            return Some((length, way));
        };
        present = dependency.after;
        way.push((present, Some(dependency)));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fits {
            writeln!(
                formatter,
                "{}: it fits, {} of {} stages",
                self.machine,
                self.stages.len(),
                self.description.stages
            )?
        } else {
            writeln!(formatter, "{}: it does not fit", self.machine)?
        }
        for problem in &self.problems {
            writeln!(formatter, "  {problem}")?;
        }
        if !self.fits && self.passes > 1 {
            writeln!(formatter, "  In {} passes (with recirculation) it would.", self.passes)?;
        }
        self.write_stages(formatter)?;
        self.write_units(formatter)?;
        self.write_path(formatter)?;
        writeln!(
            formatter,
            "\nFields: {} of {} usable bytes of the packet header vector.",
            self.field_bytes, self.field_bytes_max
        )
    }
}

impl Report {
    fn write_stages(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = &self.description.stage;
        let names = Demand::default().rows(stage).map(|(name, ..)| name);
        writeln!(formatter, "\nstage  {}", names.join("  "))?;
        for (number, taken) in self.stages.iter().enumerate() {
            write!(formatter, "{number:>5}")?;
            for (name, taken, available) in taken.rows(stage) {
                let cell = format!("{taken}/{available}");
                write!(formatter, "  {cell:>width$}", width = name.len())?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }

    fn write_units(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut placed: Vec<&Placed> = self.placed.iter().collect();
        placed.sort_by_key(|unit| (unit.first_stage, unit.control != "ingress"));
        writeln!(formatter, "\nstages  control  what")?;
        for unit in placed {
            let span = if unit.first_stage == unit.last_stage {
                unit.first_stage.to_string()
            } else {
                format!("{}-{}", unit.first_stage, unit.last_stage)
            };
            writeln!(formatter, "{span:>6}  {:<7}  {}", unit.control, unit.name)?;
        }
        Ok(())
    }

    fn write_path(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "\nThe longest way:")?;
        for step in &self.critical_path {
            match &step.because {
                None => writeln!(formatter, "  {:>2}  {}", step.stage, step.name)?,
                Some((kind, field)) => {
                    writeln!(formatter, "  {:>2}  {}, which {kind} `{field}`", step.stage, step.name)?
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a register goes through two tables before it is written back.
    const CIRCLE: &str = "\
program v1model
slot meta.v: bit<16> metadata
slot meta.z: bit<16> metadata
slot meta.y: bit<16> metadata
stage ingress = I
action set_z(x: bit<16>) = set_z
action set_y(x: bit<16>) = set_y
table tz {
  key meta.v: bit<16> exact = meta.v
  action set_z
  default set_z(16w0x0)
  size 16
}
table ty {
  key meta.z: bit<16> exact = meta.z
  action set_y
  default set_y(16w0x0)
  size 16
}
register r: bit<16> size 16 initial 16w0x0

body set_z action {
block0:
  meta.z = $x
  return
}
body set_y action {
block0:
  meta.y = $x
  return
}
body I control {
block0:
  meta.v = register_read(r, 32w0x3)
  apply tz -> block1
block1:
  apply ty -> block2
block2:
  register_write(r, 32w0x3, meta.y)
  return
}
";

    fn reported(text: &str) -> Report {
        let program = forebay_ir::text::read(text).expect("a program");
        report(&program, &Machine::named("tofino").expect("it is known"))
    }

    #[test]
    fn units_that_need_one_another_in_a_circle_do_not_fit() {
        let report = reported(CIRCLE);
        assert_eq!((report.fits, report.passes), (false, 0));
        let expected =
            "`r`, `tz` and `ty` each need what the one before gives, in a circle: no order of stages suits all";
        assert_eq!(report.problems, [expected]);
        let without =
            reported(&CIRCLE.replace("register_write(r, 32w0x3, meta.y)", "register_write(r, 32w0x3, 16w0x1)"));
        assert_eq!(
            (without.fits, without.stages.len()),
            (true, 3),
            "{:?}",
            without.problems
        );
    }

    /// The register of the text above, accessed by the actions of both tables in place of the control.
    #[test]
    fn a_register_is_in_one_stage() {
        let text = CIRCLE
            .replace("  meta.v = register_read(r, 32w0x3)\n", "")
            .replace("  register_write(r, 32w0x3, meta.y)\n", "")
            .replace("meta.z = $x", "meta.z = register_read(r, 32w0x3)")
            .replace("meta.y = $x", "register_write(r, 32w0x3, $x)");
        let report = reported(&text);
        let expected = "`tz` and `ty`, which stands in a later stage, access the register `r`, which is in one stage";
        assert_eq!((report.fits, report.problems), (false, vec![expected.to_string()]));
        let apart = reported(&text.replace("exact = meta.z", "exact = meta.y"));
        assert!(apart.fits, "both tables in one stage: {:?}", apart.problems);
        let egress = text.replace("stage ingress = I", "stage ingress = I\nstage egress = E")
            + "body E control {\nblock0:\n  register_write(r, 32w0x3, 16w0x1)\n  return\n}\n";
        let problems = reported(&egress).problems;
        assert!(problems.contains(&"the register `r` is accessed in ingress and in egress".to_string()));
    }

    /// A hash that is matched, or that an action reads, stands between what it is computed of and that table; one that
    /// is only an index does not.
    #[test]
    fn a_hash_that_is_a_key_takes_a_stage() {
        let hashed = CIRCLE
            .replace("  meta.v = register_read(r, 32w0x3)\n", "")
            .replace("slot meta.y", "slot meta.h: bit<32> metadata\nslot meta.y")
            .replace(
                "block1:\n",
                "block1:\n  meta.h = hash crc32 {meta.z} range(32w0x0, 32w0x10)\n",
            );
        let stages = |text: &str| reported(text).stages.len();
        assert_eq!(
            stages(&hashed.replace("meta.z: bit<16> exact = meta.z", "meta.h: bit<32> exact = meta.h")),
            4
        );
        let read = hashed
            .replace("exact = meta.z", "exact = meta.v")
            .replace("meta.y = $x", "meta.y = meta.h[15:0]");
        assert_eq!(stages(&read), 4);
        let index = hashed.replace("register_write(r, 32w0x3, meta.y)", "register_write(r, meta.h, 16w0x1)");
        assert_eq!(stages(&index), 2);
        // At times the index is what the second table gives, and one more.
        let (write, computed) = (
            "  register_write(r, meta.h",
            "  meta.h = zext(32, meta.y) + 32w0x1\n  jump block4\n",
        );
        let blocks = format!("  branch meta.v == 16w0x1, block3, block4\nblock3:\n{computed}block4:\n{write}");
        assert_eq!(stages(&index.replace(write, &blocks)), 4);
    }

    #[test]
    fn a_truth_value_that_an_action_reads_takes_a_stage() {
        let text = CIRCLE
            .replace("  meta.v = register_read(r, 32w0x3)\n", "")
            .replace("slot meta.y", "slot is_large: bit<1> local\nslot meta.y")
            .replace("block1:\n", "block1:\n  is_large = 16w0x7 < meta.z\n")
            .replace("exact = meta.z", "exact = meta.v")
            .replace("meta.y = $x", "meta.y = zext(16, is_large)");
        // The first table, the comparison, the second table, the register.
        assert_eq!(reported(&text).stages.len(), 4);
    }

    /// `bool is_known = false;`, which an action of the first table sets, and which decides about the second.
    #[test]
    fn a_truth_value_that_an_action_gives_is_known_a_stage_later() {
        let text = CIRCLE
            .replace("slot meta.y", "slot is_known: bit<1> local\nslot meta.y")
            .replace("  meta.v = register_read(r, 32w0x3)\n", "  is_known = 1w0x0\n")
            .replace("meta.z = $x", "is_known = 1w0x1")
            .replace("exact = meta.z", "exact = meta.v")
            .replace(
                "  apply ty -> block2\nblock2:\n  register_write(r, 32w0x3, meta.y)\n",
                "  branch is_known, block2, block3\nblock2:\n  apply ty -> block3\nblock3:\n",
            );
        let report = reported(&text);
        let stage = |name: &str| {
            report
                .placed
                .iter()
                .find(|unit| unit.name == name)
                .map(|unit| unit.first_stage)
        };
        assert!(stage("ty") > stage("tz"), "{:?}", report.placed);
    }

    #[test]
    fn a_meter_of_an_action_takes_an_arithmetic_unit() {
        let text = CIRCLE
            .replace("  meta.v = register_read(r, 32w0x3)\n", "")
            .replace("register r", "meter m bytes size 16\nregister r")
            .replace("meta.z = $x", "meta.z = METER");
        let first = |text: &str| reported(text).stages[0];
        let metered = first(&text.replace("METER", "execute_meter(m, 32w0x1)"));
        let plain = first(&text.replace("METER", "$x"));
        assert_eq!((plain.counter_alus, metered.counter_alus), (0, 1));
        assert!(metered.sram_blocks > plain.sram_blocks);
    }

    #[test]
    fn the_main_control_of_pna_stands_on_stages() {
        let text = CIRCLE
            .replace("program v1model", "program pna")
            .replace("stage ingress = I", "stage main_control = I")
            .replace("meta.y)", "16w0x1)");
        let report = reported(&text);
        assert_eq!(
            (report.fits, report.stages.len(), report.placed.len()),
            (true, 3, 3),
            "{:?}",
            report.problems
        );
        assert_eq!((report.placed[0].control, report.waits[0].control), ("main", "main"));
        let drawing = report.drawing();
        let has = |text: &str| drawing.contains(text);
        assert!(
            has("<title>tz</title>") && has(">what stands in which stage of "),
            "{drawing}"
        );
        assert!(has(">main</text>") && !has(">egress</text>"), "{drawing}");
    }
}
