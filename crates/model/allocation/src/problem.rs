//! What is to be placed, and on what.

use serde::Deserialize;
use std::collections::BTreeSet;

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
    /// Behind the traffic manager.
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
    /// Match-action stages that it takes, one behind another.
    pub stages: u32,
    /// Of the memory of a pipeline, which both halves share.
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
    chip: String,
    loopback_ports: Vec<u16>,
    #[serde(rename = "function")]
    functions: Vec<Function>,
    #[serde(rename = "flow")]
    flows: Vec<Flow>,
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
    /// Of each flow, its functions by index.
    pub(crate) chains: Vec<Vec<usize>>,
}

impl Problem {
    /// Reads a file. `chip` finds the chip that it names.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(text: &str, chip: impl Fn(&str) -> Result<Chip, String>) -> Result<Problem, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("line {line}: {}", error.message().trim())
        })?;
        let chip = chip(&file.chip)?;
        check_ports(&file, &chip)?;
        check_functions(&file.functions, &chip)?;
        let chains = file.flows.iter().map(|flow| chain(flow, &file.functions));
        let chains = chains.collect::<Result<_, _>>()?;
        let mut problem = Problem {
            chip,
            loopback_ports: vec![Vec::new(); chip.pipelines.into()],
            functions: file.functions,
            flows: file.flows,
            chains,
        };
        for port in file.loopback_ports {
            let pipeline = problem.pipeline_of(port);
            problem.loopback_ports[usize::from(pipeline)].push(port);
        }
        Ok(problem)
    }

    /// The pipeline that serves a port.
    pub fn pipeline_of(&self, port: u16) -> u16 {
        port / (self.chip.ports / self.chip.pipelines)
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

fn check_ports(file: &File, chip: &Chip) -> Result<(), String> {
    let there = |port: u16, what: &str| match port < chip.ports {
        true => Ok(()),
        false => Err(format!(
            "{what}: there is no port {port}; the chip has 0 to {}",
            chip.ports - 1
        )),
    };
    let mut loopback = BTreeSet::new();
    for port in &file.loopback_ports {
        there(*port, "loopback_ports")?;
        if !loopback.insert(*port) {
            return Err(format!("loopback_ports: {port} is there twice"));
        }
    }
    for flow in &file.flows {
        for (port, what) in [(flow.from, "from"), (flow.to, "to")] {
            there(port, &format!("flow {}: {what}", flow.name))?;
            if loopback.contains(&port) {
                return Err(format!("flow {}: {what} = {port} is a loopback port", flow.name));
            }
        }
        if !(flow.gbps > 0.0 && flow.gbps.is_finite()) {
            return Err(format!("flow {}: gbps is more than 0", flow.name));
        }
    }
    Ok(())
}

fn check_functions(functions: &[Function], chip: &Chip) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for function in functions {
        let name = &function.name;
        if !names.insert(name) {
            return Err(format!("there are two functions {name}"));
        }
        if function.stages > chip.stages {
            return Err(format!(
                "function {name} takes {} stages; half of a pipeline has {}",
                function.stages, chip.stages
            ));
        }
        if function.memory_percent > 100 {
            return Err(format!("function {name} takes more memory than a pipeline has"));
        }
    }
    Ok(())
}

fn chain(flow: &Flow, functions: &[Function]) -> Result<Vec<usize>, String> {
    let index = |name: &String| {
        functions
            .iter()
            .position(|function| &function.name == name)
            .ok_or_else(|| format!("flow {}: there is no function {name}", flow.name))
    };
    flow.functions.iter().map(index).collect()
}
