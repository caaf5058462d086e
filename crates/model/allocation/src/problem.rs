//! What is to be placed, and on what.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use toml::Spanned;

/// The chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Pipelines, each with an ingress and an egress.
    pub pipelines: u16,
    /// Ports, of which each pipeline has an equal share, in order.
    pub ports: u16,
    /// Rate of a port.
    pub port_gbps: f64,
    /// Match-action stages of each half of a pipeline.
    pub stages: u32,
}

/// Half of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// Before the traffic manager.
    Ingress,
    /// After the traffic manager.
    Egress,
}

impl Half {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Half::Ingress => "ingress",
            Half::Egress => "egress",
        }
    }
}

/// Where a function stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The pipeline.
    pub pipeline: u16,
    /// Which half of it.
    pub half: Half,
}

/// A network function.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The number of consecutive match-action stages that it takes.
    pub stages: u32,
    /// The percentage that it takes of a pipeline's memory, which both halves share.
    #[serde(default)]
    pub memory_percent: u32,
    /// An action of `programs/chain` with its arguments, as STF writes it.
    #[serde(default)]
    pub action: Option<String>,
}

/// Packets that take a chain of functions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The port where it arrives.
    pub from: u16,
    /// The port by which it leaves.
    pub to: u16,
    /// Its rate on the wire.
    pub gbps: f64,
    /// Names of functions, in the order in which packets take them.
    pub functions: Vec<String>,
}

/// A file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    chip: Spanned<String>,
    loopback_ports: Spanned<Vec<u16>>,
    #[serde(rename = "function")]
    functions: Vec<Spanned<Function>>,
    #[serde(rename = "flow")]
    flows: Vec<Spanned<Flow>>,
}

/// What is wrong with a file.
#[derive(Clone, Debug)]
pub struct Mistake {
    /// In words.
    pub message: String,
    /// The message of the TOML reader, if it cannot read the text.
    pub toml: Option<Box<toml::de::Error>>,
    /// A byte of the table that is wrong, and the key in it.
    pub near: usize,
    /// See `near`.
    pub key: &'static str,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// A mistake at a key of a table.
fn at<T>(table: &Spanned<T>, key: &'static str, message: String) -> Mistake {
    Mistake {
        message,
        toml: None,
        near: table.span().start,
        key,
    }
}

/// Chip, functions and flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The chip.
    pub chip: Chip,
    /// Ports in loopback mode, by pipeline.
    pub loopback_ports: Vec<Vec<u16>>,
    /// What is placed.
    pub functions: Vec<Function>,
    /// What takes functions.
    pub flows: Vec<Flow>,
    /// By flow: the indices of its functions, in order.
    pub(crate) chains: Vec<Vec<usize>>,
    /// Where the tables of functions and of flows begin in the file.
    tables: [Vec<usize>; 2],
}

/// What a part of a plan comes from, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The action of a function.
    Function(usize),
    /// A flow.
    Flow(usize),
}

impl Problem {
    /// Reads a file. `chip` finds the chip that it names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str, chip: impl Fn(&str) -> Result<Chip, String>) -> Result<Problem, Mistake> {
        let file: File = toml::from_str(text).map_err(|error: toml::de::Error| Mistake {
            message: error.message().trim().to_string(),
            near: error.span().map_or(0, |span| span.start),
            key: "",
            toml: Some(Box::new(error)),
        })?;
        let chip = chip(file.chip.get_ref()).map_err(|message| at(&file.chip, "chip", message))?;
        check_ports(&file, &chip)?;
        check_functions(&file.functions, &chip)?;
        let chains = file.flows.iter().map(|flow| chain(flow, &file.functions));
        let chains = chains.collect::<Result<_, _>>()?;
        let begins = |span: std::ops::Range<usize>| span.start;
        let mut problem = Problem {
            chip,
            tables: [
                file.functions.iter().map(|function| begins(function.span())).collect(),
                file.flows.iter().map(|flow| begins(flow.span())).collect(),
            ],
            loopback_ports: vec![Vec::new(); chip.pipelines.into()],
            functions: file.functions.into_iter().map(Spanned::into_inner).collect(),
            flows: file.flows.into_iter().map(Spanned::into_inner).collect(),
            chains,
        };
        for port in file.loopback_ports.into_inner() {
            let pipeline = problem.pipeline_of(port);
            problem.loopback_ports[usize::from(pipeline)].push(port);
        }
        Ok(problem)
    }

    /// A mistake of a function or a flow.
    pub fn mistake(&self, of: Of, message: String) -> Mistake {
        let [functions, flows] = &self.tables;
        let (near, key) = match of {
            Of::Function(index) => (functions[index], "action"),
            Of::Flow(index) => (flows[index], "name"),
        };
        Mistake {
            message,
            toml: None,
            near,
            key,
        }
    }

    /// The pipeline that serves a port.
    pub fn pipeline_of(&self, port: u16) -> u16 {
        // As in the timed chip: the last pipeline has fewer ports when they cannot be shared equally.
        port / self.chip.ports.div_ceil(self.chip.pipelines)
    }

    /// What the loopback ports of a pipeline carry.
    pub fn capacity_gbps(&self, pipeline: u16) -> f64 {
        self.loopback_ports[usize::from(pipeline)].len() as f64 * self.chip.port_gbps
    }

    /// Halves of pipelines, ingress before egress of each.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.chip.pipelines).flat_map(|pipeline| [Half::Ingress, Half::Egress].map(|half| Place { pipeline, half }))
    }
}

fn check_ports(file: &File, chip: &Chip) -> Result<(), Mistake> {
    let no_port = |port: u16| format!("there is no port {port}; the chip has 0 to {}", chip.ports - 1);
    let mut loopback = BTreeSet::new();
    for port in file.loopback_ports.get_ref() {
        let wrong = |message| Err(at(&file.loopback_ports, "loopback_ports", message));
        if *port >= chip.ports {
            return wrong(format!("loopback_ports: {}", no_port(*port)));
        }
        if !loopback.insert(*port) {
            return wrong(format!("loopback_ports: {port} is there twice"));
        }
    }
    let mut names = BTreeSet::new();
    for entry in &file.flows {
        let flow = entry.get_ref();
        if flow.name.trim().is_empty() {
            return Err(at(entry, "name", "a flow has a name".to_string()));
        }
        if !names.insert(&flow.name) {
            return Err(at(entry, "name", format!("there are two flows {}", flow.name)));
        }
        let wrong = |key, message| Err(at(entry, key, format!("flow {}: {message}", flow.name)));
        for (port, key) in [(flow.from, "from"), (flow.to, "to")] {
            if port >= chip.ports {
                return wrong(key, format!("{key}: {}", no_port(port)));
            }
            if loopback.contains(&port) {
                return wrong(key, format!("{key} = {port} is a loopback port"));
            }
        }
        let most = chip.port_gbps;
        if !(flow.gbps > 0.0 && flow.gbps <= most) {
            return wrong(
                "gbps",
                format!("gbps is more than 0 and at most {most}, the rate of a port"),
            );
        }
    }
    Ok(())
}

fn check_functions(functions: &[Spanned<Function>], chip: &Chip) -> Result<(), Mistake> {
    let mut names = BTreeSet::new();
    for entry in functions {
        let function = entry.get_ref();
        let name = &function.name;
        let wrong = |key, message| Err(at(entry, key, message));
        if name.trim().is_empty() {
            return wrong("name", "a function has a name".to_string());
        }
        if !names.insert(name) {
            return wrong("name", format!("there are two functions {name}"));
        }
        if !(1..=chip.stages).contains(&function.stages) {
            return wrong(
                "stages",
                format!(
                    "function {name} takes {} stages; half of a pipeline has {}, and a function takes at least 1",
                    function.stages, chip.stages
                ),
            );
        }
        if function.memory_percent > 100 {
            let message = format!("function {name} takes more memory than a pipeline has");
            return wrong("memory_percent", message);
        }
    }
    Ok(())
}

fn chain(flow: &Spanned<Flow>, functions: &[Spanned<Function>]) -> Result<Vec<usize>, Mistake> {
    let index = |name: &String| {
        functions
            .iter()
            .position(|function| &function.get_ref().name == name)
            .ok_or_else(|| {
                let message = format!("flow {}: there is no function {name}", flow.get_ref().name);
                at(flow, "functions", message)
            })
    };
    flow.get_ref().functions.iter().map(index).collect()
}
