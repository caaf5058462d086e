//! How an architecture names what P4Runtime knows.

use crate::architecture::main_package;
use forebay_check::hir;
use forebay_p4info::ids::SymbolKind;

/// Names of extern types and table properties.
pub struct Architecture {
    /// In P4Info.
    pub name: &'static str,
    /// Extern types and what their instances are. Constructor parameters are found by name: `type` is the unit, one of
    /// [`SIZES`] the number of elements.
    externs: &'static [(&'static str, ExternKind)],
    /// Table property that names an action profile.
    pub implementation: &'static str,
    /// Table property that names a direct counter.
    pub counter: &'static str,
    /// Table property that names a direct meter.
    pub meter: &'static str,
    /// Table property that asks for idle time-outs, and the member of an enum that it must be, if it is no bool.
    pub idle_timeout: (&'static str, Option<&'static str>),
    /// Extern function whose calls are digests.
    pub digest: Option<&'static str>,
}

/// What an extern object is to P4Runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternKind {
    /// With the position of the type argument that is the index, if there is one.
    Counter(Option<usize>),
    /// Of a table.
    DirectCounter,
    /// With the position of the type argument that is the index, if there is one.
    Meter(Option<usize>),
    /// Of a table.
    DirectMeter,
    /// With the position of the type argument that is the index, if there is one; the element is the first.
    Register(Option<usize>),
    /// Without a selector.
    ActionProfile,
    /// With a selector.
    ActionSelector,
    /// The message is the first type argument.
    Digest,
}

impl ExternKind {
    /// The kind of its id.
    pub fn symbol(self) -> SymbolKind {
        match self {
            ExternKind::Counter(_) => SymbolKind::Counter,
            ExternKind::DirectCounter => SymbolKind::DirectCounter,
            ExternKind::Meter(_) => SymbolKind::Meter,
            ExternKind::DirectMeter => SymbolKind::DirectMeter,
            ExternKind::Register(_) => SymbolKind::Register,
            ExternKind::ActionProfile | ExternKind::ActionSelector => SymbolKind::ActionProfile,
            ExternKind::Digest => SymbolKind::Digest,
        }
    }
}

/// Names of constructor parameters that are a number of elements.
pub const SIZES: &[&str] = &["size", "n_counters", "n_meters"];

const V1MODEL: Architecture = Architecture {
    name: "v1model",
    externs: &[
        ("counter", ExternKind::Counter(Some(0))),
        ("direct_counter", ExternKind::DirectCounter),
        ("meter", ExternKind::Meter(Some(0))),
        ("direct_meter", ExternKind::DirectMeter),
        ("register", ExternKind::Register(Some(1))),
        ("action_profile", ExternKind::ActionProfile),
        ("action_selector", ExternKind::ActionSelector),
    ],
    implementation: "implementation",
    counter: "counters",
    meter: "meters",
    idle_timeout: ("support_timeout", None),
    digest: Some("digest"),
};

const PSA: Architecture = Architecture {
    name: "psa",
    externs: &[
        ("Counter", ExternKind::Counter(Some(1))),
        ("DirectCounter", ExternKind::DirectCounter),
        ("Meter", ExternKind::Meter(Some(0))),
        ("DirectMeter", ExternKind::DirectMeter),
        ("Register", ExternKind::Register(Some(1))),
        ("ActionProfile", ExternKind::ActionProfile),
        ("ActionSelector", ExternKind::ActionSelector),
        ("Digest", ExternKind::Digest),
    ],
    implementation: "psa_implementation",
    counter: "psa_direct_counter",
    meter: "psa_direct_meter",
    idle_timeout: ("psa_idle_timeout", Some("NOTIFY_CONTROL")),
    digest: None,
};

const PNA: Architecture = Architecture {
    name: "pna",
    implementation: "pna_implementation",
    counter: "pna_direct_counter",
    meter: "pna_direct_meter",
    idle_timeout: ("pna_idle_timeout", Some("NOTIFY_CONTROL")),
    ..PSA
};

impl Architecture {
    /// The architecture of the package that `main` instantiates; v1model where it is none that is known.
    pub fn of(program: &hir::Program) -> &'static Architecture {
        match main_package(program) {
            Some(("PSA_Switch", _)) => &PSA,
            Some(("PNA_NIC", _)) => &PNA,
            _ => &V1MODEL,
        }
    }

    /// What instances of an extern type are, if P4Runtime knows them.
    pub fn extern_kind(&self, type_name: &str) -> Option<ExternKind> {
        self.externs
            .iter()
            .find(|(name, _)| *name == type_name)
            .map(|(_, kind)| *kind)
    }
}
