//! `evaluation.toml`: what is measured, and what was published.

use crate::comparison::{self, Comparison, ComparisonSetting};
use crate::flows::{self, FlowResult, FlowSetting, Place};
use crate::frames::frame;
use crate::machine::Machine;
use crate::ring::{self, RingFound, RingResult, RingSetting};
use crate::router::PORTS;
use crate::table_size::{self, TableResult, TableSetting};
use crate::updates::{self, Foreign, UpdateResult, UpdateSetting};
use forebay_ports::PortSpec;
use forebay_sim::{Library, Problem, key_place, line_of};
use forebay_tester::clock::Clock;
use forebay_tester::self_test::SelfTest;
use forebay_tester::stream::Stream;
use serde::{Deserialize, Serialize};

/// An evaluation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// What it is.
    pub title: String,
    /// Where values were published.
    pub source: String,
    /// What a reader must know.
    #[serde(default)]
    pub notes: String,
    /// What is measured.
    pub full: Settings,
    /// Settings that take at most a minute; none if the full ones do not take longer.
    pub quick: Option<Settings>,
    /// Values of others, and bars.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// Exactly one of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Settings {
    pub flows: Option<FlowSetting>,
    pub table_size: Option<TableSetting>,
    pub updates: Option<UpdateSetting>,
    pub ring: Option<RingSetting>,
    pub comparison: Option<ComparisonSetting>,
}

/// A value that others have published, of a quantity that is measured here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The device.
    pub device: String,
    /// The quantity, as [`Figure::quantity`].
    pub quantity: String,
    /// The value, in words where it is a range.
    pub value: String,
}

/// A measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is, with its unit.
    pub quantity: String,
    /// How much.
    pub value: f64,
    /// How far that is known.
    #[serde(default)]
    pub standing: Standing,
}

impl Figure {
    /// A value as it was measured.
    pub fn new(quantity: String, value: f64) -> Figure {
        Figure {
            quantity,
            value,
            standing: Standing::Measured,
        }
    }

    /// The value with what must be said of it.
    pub fn text(&self) -> String {
        let value = crate::report::short(self.value);
        match self.standing {
            Standing::Measured => value,
            Standing::AtLeast => format!("≥ {value}"),
            Standing::NotConfirmed => format!("{value} (not confirmed)"),
        }
    }
}

/// How far a figure is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// As it was measured.
    #[default]
    Measured,
    /// The device was not the limit: it may do more.
    AtLeast,
    /// The load did not hold when it was offered again.
    NotConfirmed,
}

/// What an evaluation has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Found {
    pub format: String,
    pub title: String,
    pub device: String,
    pub machine: Machine,
    /// The tester on a wire in memory, before flows or updates were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    #[serde(default)]
    pub flows: Vec<FlowResult>,
    #[serde(default)]
    pub table_size: Vec<TableResult>,
    #[serde(default)]
    pub updates: Vec<UpdateResult>,
    #[serde(default)]
    pub ring: RingFound,
    #[serde(default)]
    pub comparison: Comparison,
}

/// The format of [`Found`] as JSON.
pub const FORMAT: &str = "forebay-evaluation/1";

impl Evaluation {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn read(text: &str) -> Result<Evaluation, Problem> {
        let read: Evaluation = toml::from_str(text).map_err(|error| Problem::of_toml(text, &error))?;
        let named = [("full", Some(&read.full)), ("quick", read.quick.as_ref())];
        for (name, settings) in named {
            let checked = settings.map_or(Ok(()), Settings::check);
            checked.map_err(|message| {
                let line = settings_line(text, name, &message);
                Problem::new(line, format!("[{name}]: {message}"))
            })?;
        }
        Ok(read)
    }

    /// Measures Forebay in memory. `library` has the results of other experiments; `told` hears a line for each result.
    ///
    /// # Errors
    /// When something cannot be set up or read, in words.
    pub fn run(&self, quick: bool, library: &dyn Library, told: &mut dyn FnMut(&str)) -> Result<Found, String> {
        let settings = self.settings(quick);
        let mut found = self.found(settings.device());
        found.self_test = settings.self_test(&Place::Memory, told)?;
        if let Some(setting) = &settings.flows {
            for table in &setting.tables {
                let mut each = |result: &FlowResult| told(&crate::report::flow_line(result));
                found
                    .flows
                    .extend(flows::measure(*table, setting, &Place::Memory, &mut each)?);
            }
        }
        if let Some(setting) = &settings.table_size {
            for start in &setting.tables {
                let mut each = |attempt: &table_size::Attempt| told(&crate::report::attempt_line(start.kind, attempt));
                found.table_size.push(table_size::search(*start, setting, &mut each)?);
            }
        }
        if let Some(setting) = &settings.updates {
            found.updates = run_updates(setting, None, told)?;
        }
        if let Some(setting) = &settings.ring {
            let mut each = |result: &RingResult| told(&crate::ring_report::line(result));
            found.ring = ring::measure(setting, library, &mut each)?;
        }
        if let Some(setting) = &settings.comparison {
            found.comparison = comparison::compare(setting, library)?;
        }
        found.machine.finish();
        Ok(found)
    }

    /// Measures a switch behind interfaces: with its rules (flows), or with a process that updates its rule (updates).
    ///
    /// # Errors
    /// When an interface cannot be opened, or the evaluation is neither, in words.
    pub fn run_foreign(
        &self,
        quick: bool,
        device: &str,
        foreign: &Foreign,
        rules: u32,
        told: &mut dyn FnMut(&str),
    ) -> Result<Found, String> {
        let settings = self.settings(quick);
        settings.lengths_fit(&foreign.interfaces)?;
        let mut found = self.found(device);
        let place = Place::Interfaces {
            specs: foreign.interfaces.clone(),
            rules,
        };
        found.self_test = settings.self_test(&place, told)?;
        if let Some(setting) = &settings.flows {
            for table in &setting.tables {
                let mut each = |result: &FlowResult| told(&crate::report::flow_line(result));
                found.flows.extend(flows::measure(*table, setting, &place, &mut each)?);
            }
            if found.flows.is_empty() {
                let mut counts: Vec<u32> = setting.tables.iter().map(|table| table.rules).collect();
                counts.push(1);
                counts.sort_unstable();
                counts.dedup();
                let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
                return Err(format!(
                    "no case has {rules} rules; there are cases with {}",
                    counts.join(", ")
                ));
            }
        } else if let Some(setting) = &settings.updates {
            if foreign.command.trim().is_empty() {
                return Err("nothing updates the rule of that switch: --control COMMAND names what does".to_string());
            }
            found.updates = run_updates(&setting.by_command(), Some(foreign), told)?;
        } else {
            return Err("of switches behind interfaces, flows and updates are measured".to_string());
        }
        found.machine.finish();
        Ok(found)
    }

    fn settings(&self, quick: bool) -> &Settings {
        self.quick.as_ref().filter(|_| quick).unwrap_or(&self.full)
    }

    fn found(&self, device: &str) -> Found {
        Found {
            format: FORMAT.to_string(),
            title: self.title.clone(),
            device: device.to_string(),
            machine: Machine::now(),
            self_test: None,
            flows: Vec::new(),
            table_size: Vec::new(),
            updates: Vec::new(),
            ring: RingFound::default(),
            comparison: Comparison::default(),
        }
    }
}

impl Settings {
    /// What is measured where no other switch is named.
    fn device(&self) -> &'static str {
        match (&self.ring, &self.comparison) {
            (Some(_), _) => "Forebay, both switches in memory",
            (_, Some(_)) => "figures that other experiments have recorded",
            _ => "Forebay, router in memory",
        }
    }

    /// Measures the tester itself on a wire, by the clock that measures the switch. The ring has rows of the tester alone,
    /// and sizes of tables hang on no time.
    fn self_test(&self, place: &Place, told: &mut dyn FnMut(&str)) -> Result<Option<SelfTest>, String> {
        let (stream, mut clock): (Stream, Clock) = match (&self.flows, &self.updates) {
            (Some(flows), _) => (flows.self_test_stream(), flows::clock(place)),
            (_, Some(updates)) => (updates.self_test_stream(), Clock::machine()),
            _ => return Ok(None),
        };
        let found = SelfTest::measure(&[stream], &PORTS, SelfTest::PLAN, &mut clock)?;
        found.words().iter().for_each(|words| told(words));
        Ok(Some(found))
    }

    fn check(&self) -> Result<(), String> {
        let parts = [
            self.flows.is_some(),
            self.table_size.is_some(),
            self.updates.is_some(),
            self.ring.is_some(),
            self.comparison.is_some(),
        ];
        if parts.iter().filter(|part| **part).count() != 1 {
            return Err("exactly one of flows, table_size, updates, ring and comparison is wanted".to_string());
        }
        if let Some(ring) = &self.ring {
            ring.check()?;
        }
        if let Some(flows) = &self.flows {
            flows.check()?;
        }
        if let Some(updates) = &self.updates {
            updates.check()?;
        }
        if let Some(tables) = &self.table_size {
            tables.check()?;
        }
        self.check_rules()?;
        match self.frame_bytes().find(|bytes| !(64..=9_018).contains(bytes)) {
            Some(bytes) => Err(format!(
                "frame_bytes has {bytes}; 64 to 9018 are possible, with check sequence"
            )),
            None => Ok(()),
        }
    }

    /// Whether there are as many different rules as tables are to have.
    fn check_rules(&self) -> Result<(), String> {
        let tables = self
            .flows
            .iter()
            .flat_map(|flows| &flows.tables)
            .map(|table| (table.kind, table.rules));
        let sizes = self
            .table_size
            .iter()
            .flat_map(|tables| &tables.tables)
            .map(|table| (table.kind, table.size));
        let updated = self.updates.iter().flat_map(UpdateSetting::tables);
        for (kind, rules) in tables.chain(sizes).chain(updated) {
            if rules == 0 || rules > kind.rules_max() {
                let key = if self.updates.is_some() { "rules" } else { "tables" };
                return Err(format!(
                    "{key} has {rules} rules of kind {}; 1 to {} are possible",
                    kind.name(),
                    kind.rules_max()
                ));
            }
        }
        Ok(())
    }

    /// Lengths of the frames that switches behind interfaces get, with check sequence.
    fn frame_bytes(&self) -> impl Iterator<Item = usize> + '_ {
        let flows = self.flows.iter().flat_map(|flows| &flows.frame_bytes);
        let updates = self.updates.iter().flat_map(|updates| &updates.frame_bytes);
        flows.chain(updates).copied()
    }

    /// Whether the interface by which frames are sent takes all of them. What it does not take would be found when it is
    /// due, after what the other lengths need.
    fn lengths_fit(&self, interfaces: &[PortSpec]) -> Result<(), String> {
        let (Some(sent_by), Some(longest)) = (interfaces.first(), self.frame_bytes().max()) else {
            return Ok(());
        };
        let fit = forebay_tester::device::frames_fit(sent_by, &[frame(0, longest)]);
        fit.map_err(|message| format!("frame_bytes has {longest}, with check sequence: {message}"))
    }
}

/// The line of a mistake in the settings of this name: of the key with which its message begins, or of their table.
fn settings_line(text: &str, name: &str, message: &str) -> Option<usize> {
    let table = text.find(&format!("[{name}"))?;
    let key = message.split(' ').next()?;
    let place = key_place(text, table, key).map_or(table, |place| place.start);
    Some(line_of(text, place))
}

/// Whether a list names something, and nothing twice: each value is measured, and results are told apart by it.
pub(crate) fn check_list<T: PartialEq>(key: &str, list: &[T]) -> Result<(), String> {
    if list.is_empty() {
        return Err(format!("{key} is empty; it has at least one value"));
    }
    let mut values = list.iter().enumerate();
    match values.find(|(at, value)| list[..*at].contains(value)) {
        Some((at, _)) => Err(format!("{key} has a value twice, number {}; leave one out", at + 1)),
        None => Ok(()),
    }
}

fn run_updates(
    setting: &UpdateSetting,
    foreign: Option<&Foreign>,
    told: &mut dyn FnMut(&str),
) -> Result<Vec<UpdateResult>, String> {
    let mut results = Vec::new();
    for of in setting.combinations() {
        let result = updates::measure(of, setting, foreign)?;
        told(&crate::report::update_line(&result));
        results.push(result);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_evaluations_of_the_repository_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).expect("experiments") {
            let path = entry.expect("a folder").path().join("evaluation.toml");
            if let Ok(text) = std::fs::read_to_string(&path) {
                Evaluation::read(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
                read += 1;
            }
        }
        assert!(read >= 3, "{read} evaluations");
    }

    #[test]
    fn the_example_of_the_page_can_be_read() {
        let page = include_str!("../../../../docs/tester.md");
        let blocks = page.split("```toml\n").skip(1);
        let mut blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
        let example = blocks.find(|block| block.contains("[full.updates]"));
        assert_eq!(Evaluation::read(example.expect("an example")).map(|_| ()), Ok(()));
    }

    /// The longest that trials of the settings take, in seconds. Each has a warm-up of a tenth of it.
    fn trials_s_max(settings: &Settings) -> f64 {
        let cell = |trials_s: f64, seconds: f64, trials: usize| {
            1.1 * (crate::trials::SEARCH_SUMS * trials_s.max(seconds) + trials as f64 * seconds)
        };
        let flows = settings.flows.as_ref().map_or(0.0, |flows| {
            let cells = flows.tables.len() * flows.cases(1).len() * flows.frame_bytes.len();
            // At two loads, and at the one rate with the switch and on a wire.
            let trials = (flows::LOADS.len() + 2) * flows.turns as usize;
            cells as f64 * cell(flows.trials_s, flows.seconds, trials)
        });
        let ring = settings.ring.as_ref().map_or(0.0, |ring| {
            let cells = ring.message_bytes.len() * (1 + ring.methods.len() * ring.messages.len());
            cells as f64 * cell(ring.trials_s, ring.seconds, ring.turns as usize)
        });
        flows + ring
    }

    #[test]
    fn quick_settings_take_less_than_a_minute() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
        for name in ["flow-scalability", "aggregation-ring"] {
            let text = std::fs::read_to_string(folder.join(name).join("evaluation.toml")).expect("a file");
            let read = Evaluation::read(&text).expect("an evaluation");
            let seconds = trials_s_max(read.quick.as_ref().expect("quick settings"));
            assert!(seconds > 10.0 && seconds < 60.0, "{name}: {seconds}");
        }
    }

    /// `forebay experiment report` writes them anew when their form changes.
    #[test]
    fn reports_of_the_repository_are_those_of_their_records() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
        for name in [
            "flow-scalability",
            "operable-table-size",
            "update-responsiveness",
            "aggregation-ring",
            "device-comparison",
        ] {
            let text = |file: &str| std::fs::read_to_string(folder.join(name).join(file)).expect("a file");
            let evaluation = Evaluation::read(&text("evaluation.toml")).expect("an evaluation");
            let found: Found = serde_json::from_str(&text("result.json")).expect("a record");
            let report = found.markdown(&evaluation, &format!("forebay experiment run {name}"));
            assert!(
                text("result.md").starts_with(&report),
                "forebay experiment report {name}"
            );
            for (chart, drawn) in found.charts() {
                assert_eq!(
                    text(&format!("{chart}.svg")),
                    drawn.svg(),
                    "forebay experiment report {name}"
                );
            }
        }
    }

    #[test]
    fn a_switch_with_rules_of_no_case_is_told_of() {
        let text = "title = \"t\"\nsource = \"s\"\n[full.flows]\ntables = [{ kind = \"exact\", rules = 9 }]\nframe_bytes = [64]\n\
                    flows = 1\nseconds = 0.1\ntrial_s = 0.1\ntrials_s = 0.1\npps_max = 1000.0\n";
        let evaluation = Evaluation::read(text).expect("an evaluation");
        let foreign = Foreign {
            interfaces: Vec::new(),
            command: String::new(),
        };
        let error = evaluation.run_foreign(false, "a switch", &foreign, 7, &mut |_| ());
        assert_eq!(error, Err("no case has 7 rules; there are cases with 1, 9".to_string()));
    }

    #[test]
    fn updates_of_another_switch_want_a_command() {
        let text = "title = \"t\"\nsource = \"s\"\n[full.updates]\ndecisions = [\"exact\"]\nrules = [1]\nframe_bytes = [64]\n\
                    mbps = [1.0]\ncontrols = [\"command\"]\nrepetitions = 1\nin_a_row = 1\n";
        let evaluation = Evaluation::read(text).expect("an evaluation");
        let foreign = Foreign {
            interfaces: Vec::new(),
            command: " ".to_string(),
        };
        let error = evaluation.run_foreign(false, "a switch", &foreign, 1, &mut |_| ());
        assert!(error.is_err_and(|error| error.ends_with("--control COMMAND names what does")));
    }

    #[test]
    fn mistakes_in_settings_of_flows_have_their_lines() {
        let right = "title = \"t\"\nsource = \"s\"\n[full.flows]\ntables = [{ kind = \"exact\", rules = 9 }]\nframe_bytes = [64]\n\
                     flows = 1\nseconds = 0.1\ntrial_s = 0.1\ntrials_s = 0.1\npps_max = 1000.0\n";
        assert!(Evaluation::read(right).is_ok());
        for (from, to, expected) in [
            (
                "[64]",
                "[64, 64]",
                "5: [full]: frame_bytes has a value twice, number 2; leave one out",
            ),
            ("[64]", "[]", "5: [full]: frame_bytes is empty"),
            ("[64]", "[60]", "5: [full]: frame_bytes has 60; 64 to 9018"),
            ("[64]\n", "[64]\nturns = 0\n", "6: [full]: turns is 0; it is at least 1"),
            ("rules = 9", "rules = 0", "4: [full]: tables has 0 rules of kind exact"),
            (
                "trials_s = 0.1",
                "trials_s = 0.01",
                "9: [full]: trials_s is 0.01; it is at least trial_s",
            ),
            ("full.flows", "full.flow", "3: there is no key `flow` here"),
        ] {
            let problem = Evaluation::read(&right.replace(from, to)).expect_err("a mistake");
            assert!(problem.to_string().starts_with(expected), "{problem}");
        }
    }

    #[test]
    fn impossible_settings_of_updates_are_told() {
        let right = "title = \"t\"\nsource = \"s\"\n[full.updates]\ndecisions = [\"exact\"]\nrules = [1]\nframe_bytes = [64]\n\
                     mbps = [1.0]\ncontrols = [\"library\"]\nrepetitions = 1\nin_a_row = 1\n";
        assert!(Evaluation::read(right).is_ok());
        for (from, to, expected) in [
            ("[\"exact\"]", "[]", "4: [full]: decisions is empty"),
            ("rules = [1]", "rules = []", "5: [full]: rules is empty"),
            (
                "rules = [1]",
                "rules = [0]",
                "5: [full]: rules has 0 rules of kind exact",
            ),
            ("[1.0]", "[]", "7: [full]: mbps is empty"),
            (
                "[1.0]",
                "[1e-6]",
                "7: [full]: mbps has 0.000001; it is 0.000672 (a frame of 64 bytes in a second)",
            ),
            ("[1.0]", "[1e12]", "7: [full]: mbps has 1000000000000; it is"),
            ("[\"library\"]", "[]", "8: [full]: controls is empty"),
            ("repetitions = 1", "repetitions = 0", "9: [full]: repetitions is 0"),
        ] {
            let problem = Evaluation::read(&right.replace(from, to)).expect_err("a mistake");
            assert!(problem.to_string().starts_with(expected), "{problem}");
        }
    }

    #[test]
    fn impossible_settings_are_told() {
        let text = "title = \"t\"\nsource = \"s\"\n[full]\n";
        let problem = Evaluation::read(text).expect_err("nothing to measure");
        assert!(problem.to_string().contains("[full]: exactly one"), "{problem}");
        let flows = |numbers: &str| {
            let text = format!(
                "title = \"t\"\nsource = \"s\"\n[full.flows]\ntables = [{{ kind = \"exact\", rules = 9 }}]\nframe_bytes = [64]\n{numbers}"
            );
            Evaluation::read(&text)
                .map(|_| ())
                .map_err(|problem| problem.to_string())
        };
        let right = "flows = 1\nseconds = 0.1\ntrial_s = 0.1\ntrials_s = 0.1\npps_max = 1000.0";
        assert_eq!(flows(right), Ok(()));
        for (key, value) in [("flows", "1"), ("seconds", "0.1"), ("pps_max", "1000.0")] {
            let wrong = right.replace(&format!("{key} = {value}"), &format!("{key} = 0"));
            let said = flows(&wrong).expect_err("a number that makes no sense");
            assert!(said.contains(&format!("{key} is 0; it is")), "{said}");
        }
        let problem = Evaluation::read("title = 3").expect_err("a number");
        assert!(problem.to_string().contains('1'), "{problem}");
    }
}
