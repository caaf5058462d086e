//! The program that is measured: IPv4 forwarding by a table of any kind, or by a register.

use crate::rules::{Kind, rule};
use forebay_bits::Bits;
use forebay_driver::{Options, compile};
use forebay_ir::Program;
use forebay_p4info::model::P4Info;
use forebay_pipeline::{Engine, Entry, EntryAction, FastPath, Options as Loading, Pipeline};
use forebay_syntax::render::render_all;
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

/// Ports: frames enter by the first and leave by the second.
pub const PORTS: [u32; 2] = [1, 2];

/// The table.
pub const TABLE: &str = "RouterIngress.routes";

/// The action of its entries.
pub const FORWARD: &str = "RouterIngress.forward";

/// The register that takes the table's place.
pub const REGISTER: &str = "RouterIngress.next_hop";

const SOURCE: &str = include_str!("router.p4");

/// What decides where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A table with keys of this kind.
    Table(Kind),
    /// A register.
    Register,
}

/// A compiled router.
pub struct Router {
    /// What executes.
    pub program: Program,
    /// What controllers see of it.
    pub p4info: P4Info,
}

impl Router {
    /// Compiles the router with a table of this size.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn new(decision: Decision, size: u32) -> Result<Router, String> {
        let provider = MemorySources::new().with("router.p4", SOURCE);
        let defines = match decision {
            Decision::Table(kind) => vec![format!("MATCH={}", kind.name()), format!("SIZE={size}")],
            Decision::Register => vec!["REGISTER".to_string()],
        };
        let mut options = Options::new(&provider);
        options.defines = &defines;
        let compiled = compile("router.p4", &options);
        match (compiled.program, compiled.p4info) {
            (Some(program), Some(p4info)) => Ok(Router { program, p4info }),
            _ => Err(render_all(&compiled.diagnostics, &compiled.sources)),
        }
    }

    /// Loads it as machine code, without entries.
    ///
    /// # Errors
    /// When it cannot be loaded, in words.
    pub fn load(&self) -> Result<Arc<Pipeline>, String> {
        let options = Loading {
            engine: Engine::Jit,
            fast_path: FastPath::BeforePackets,
            ..Loading::default()
        };
        let loaded = Pipeline::load_with(self.program.clone(), options);
        loaded.map(Arc::new).map_err(|error| error.to_string())
    }
}

/// The entry of the rule with this number. A frame that it forwards has `version` in both MAC addresses.
pub fn entry(kind: Kind, index: u32, version: u64) -> Entry {
    let rule = rule(kind, index);
    Entry {
        matches: vec![rule.key],
        priority: rule.priority,
        action: EntryAction::call(FORWARD, arguments(version)),
    }
}

fn arguments(version: u64) -> Vec<Bits> {
    let mac = || Bits::new(48, u128::from(version));
    vec![mac(), mac(), Bits::new(9, u128::from(PORTS[1]))]
}

/// The value of the register that has the effect of [`entry`].
pub fn register_value(version: u64) -> Bits {
    Bits::new(64, u128::from(version) | u128::from(PORTS[1]) << 48)
}
