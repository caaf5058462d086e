//! Which of p4c's programs belong to which category.

use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is asked of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Category {
    /// v1model, PSA and PNA programs with an STF test: it passes.
    Stf,
    /// Programs for core, v1model, PSA or PNA: accepted.
    Accepted,
    /// Programs with an error: rejected.
    Rejected,
    /// v1model programs: P4Info equal in meaning to p4c's.
    P4info,
}

impl Category {
    /// In the order of the report.
    pub fn all() -> [Category; 4] {
        [Category::Stf, Category::Accepted, Category::Rejected, Category::P4info]
    }

    /// As in `--only` and in the record.
    pub fn name(self) -> &'static str {
        match self {
            Category::Stf => "stf",
            Category::Accepted => "accepted",
            Category::Rejected => "rejected",
            Category::P4info => "p4info",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Category::Stf => "v1model, PSA and PNA STF tests passed",
            Category::Accepted => "p4_16_samples for core, v1model, PSA and PNA accepted",
            Category::Rejected => "p4_16_errors rejected",
            Category::P4info => "P4Info equal in meaning to p4c's",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One program, with what it is compared to.
#[derive(Clone, Debug)]
pub struct Job {
    /// Path below `testdata`, the name in reports.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// STF test or expected P4Info.
    pub companion: Option<PathBuf>,
}

/// Folders of samples whose `.p4` files are programs of their own, not pieces that others include.
const SAMPLE_FOLDERS: &[&str] = &["", "dash", "metrics", "omec", "parser-inline", "pins"];

/// Programs in folders that otherwise hold pieces.
const SAMPLE_PROGRAMS: &[&str] = &["fabric_20190420/fabric.p4"];

/// Architectures that Forebay does not have; a program that includes one of their files is not counted.
const OTHER_ARCHITECTURES: &[&str] = &["ebpf_model.p4", "ubpf_model.p4", "xdp_model.p4", "tna.p4", "t2na.p4"];

/// Architectures whose programs are executed.
const EXECUTED: &[&str] = &["v1model.p4", "psa.p4", "pna.p4"];

/// The programs of a category in order of their names.
pub fn collect(category: Category, p4c: &Path) -> Result<Vec<Job>> {
    let testdata = p4c.join("testdata");
    let programs = match category {
        Category::Rejected => programs_in(&testdata.join("p4_16_errors"))?,
        _ => samples(&testdata.join("p4_16_samples"))?,
    };
    let mut jobs = Vec::new();
    for program in programs {
        let includes = included_files(&program)?;
        let companion = match category {
            Category::Stf => existing(program.with_extension("stf")),
            Category::P4info => existing(expected_p4info(&testdata, &program)),
            Category::Accepted | Category::Rejected => None,
        };
        let belongs = match category {
            Category::Stf => includes.iter().any(|i| EXECUTED.contains(&i.as_str())) && companion.is_some(),
            Category::P4info => includes.iter().any(|i| i == "v1model.p4") && companion.is_some(),
            Category::Accepted => !includes
                .iter()
                .any(|i| OTHER_ARCHITECTURES.iter().any(|other| i.starts_with(other))),
            Category::Rejected => true,
        };
        if belongs {
            let name = program.strip_prefix(&testdata)?.display().to_string();
            jobs.push(Job {
                name,
                program,
                companion,
            });
        }
    }
    Ok(jobs)
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    path.exists().then_some(path)
}

fn samples(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for sub in SAMPLE_FOLDERS {
        programs.extend(programs_in(&folder.join(sub))?);
    }
    programs.extend(SAMPLE_PROGRAMS.iter().map(|p| folder.join(p)));
    programs.sort();
    Ok(programs)
}

fn programs_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "p4") {
            programs.push(path);
        }
    }
    programs.sort();
    Ok(programs)
}

/// `testdata/p4_16_samples_outputs/<below samples>.p4info.txtpb`
fn expected_p4info(testdata: &Path, program: &Path) -> PathBuf {
    let below = program.strip_prefix(testdata.join("p4_16_samples")).unwrap_or(program);
    let mut name = below.as_os_str().to_owned();
    name.push(".p4info.txtpb");
    testdata.join("p4_16_samples_outputs").join(name)
}

/// Names in the `#include` lines of a program and of the files beside it that it includes.
fn included_files(program: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut pending = vec![program.to_path_buf()];
    while let Some(path) = pending.pop() {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for line in text.lines() {
            let Some(rest) = line.trim_start().strip_prefix('#') else {
                continue;
            };
            let Some(rest) = rest.trim_start().strip_prefix("include") else {
                continue;
            };
            let name = rest.trim().trim_start_matches(['<', '"']);
            let name = name.split(['>', '"']).next().unwrap_or(name).to_string();
            let beside = path.parent().unwrap_or(Path::new("")).join(&name);
            let file = Path::new(&name)
                .file_name()
                .map(|f| f.to_string_lossy().into_owned())
                .unwrap_or_default();
            let known = file == "core.p4" || EXECUTED.contains(&file.as_str());
            let recorded = if known { file } else { name };
            if names.insert(recorded) && beside.exists() {
                pending.push(beside);
            }
        }
    }
    Ok(names)
}
