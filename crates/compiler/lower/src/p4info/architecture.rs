//! The names that an architecture uses for what P4Runtime supports.

use crate::architecture::main_package;
use forebay_check::hir;
use forebay_p4info::ids::SymbolKind;

/// Names of extern types and table properties.
pub struct Architecture {
    /// The name in P4Info.
    pub name: &'static str,
    /// Extern types, and the kinds of their instances. Constructor parameters are found by name: `type` is the unit,
    /// one of [`SIZES`] the number of elements.
    externs: &'static [(&'static str, ExternKind)],
    /// Table property that names an action profile.
    pub implementation: &'static str,
    /// Table property that names a direct counter.
    pub counter: &'static str,
    /// Table property that names a direct meter.
    pub meter: &'static str,
    /// Table property for idle time-outs, and the enum member that requests them, if the property is not a bool.
    pub idle_timeout: (&'static str, Option<&'static str>),
    /// Extern function whose calls are digests.
    pub digest: Option<&'static str>,
}

/// The kind of an extern object in P4Runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternKind {
    /// With the position of the type argument that is the index, if there is one.
    Counter(Option<usize>),
    /// A counter of a table.
    DirectCounter,
    /// With the position of the type argument that is the index, if there is one.
    Meter(Option<usize>),
    /// A meter of a table.
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
    /// The architecture of the package that `main` instantiates; v1model if it is unknown.
    pub fn of(program: &hir::Program) -> &'static Architecture {
        match main_package(program) {
            Some(("PSA_Switch", _)) => &PSA,
            Some(("PNA_NIC", _)) => &PNA,
            _ => &V1MODEL,
        }
    }

    /// The kind of the instances of an extern type, if P4Runtime supports them.
    pub fn extern_kind(&self, type_name: &str) -> Option<ExternKind> {
        self.externs
            .iter()
            .find(|(name, _)| *name == type_name)
            .map(|(_, kind)| *kind)
    }
}
