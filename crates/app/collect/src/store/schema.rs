//! The columns.
//!
//! Whole numbers are `int64`, whatever their width: they are encoded in as few bits as their values need.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole number.
    Whole,
    /// Nanoseconds since the Unix epoch.
    Time,
    /// A text.
    Text,
    /// A truth value.
    Truth,
}

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_optional: bool,
}

const fn required(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_optional: false,
    }
}

const fn optional(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_optional: true,
    }
}

/// All of them. A row is a hop; what all rows of a report have in common stands first.
pub(super) const COLUMNS: [Column; 26] = [
    required("received", Kind::Time),
    // Rows with the same number are a report; from 0 in each file.
    required("report", Kind::Whole),
    required("reporter", Kind::Whole),
    required("hardware", Kind::Whole),
    required("sequence", Kind::Whole),
    required("mode", Kind::Text),
    required("dropped", Kind::Truth),
    required("congested", Kind::Truth),
    required("tracked", Kind::Truth),
    required("intermediate", Kind::Truth),
    required("whole", Kind::Truth),
    optional("drop_reason", Kind::Whole),
    optional("source", Kind::Text),
    optional("destination", Kind::Text),
    optional("protocol", Kind::Whole),
    optional("source_port", Kind::Whole),
    optional("destination_port", Kind::Whole),
    // From 1: the first node that the packet met.
    required("hop", Kind::Whole),
    optional("node", Kind::Whole),
    optional("ingress_port", Kind::Whole),
    optional("egress_port", Kind::Whole),
    optional("latency_ns", Kind::Whole),
    optional("queue", Kind::Whole),
    optional("queue_depth", Kind::Whole),
    optional("ingress_time_ns", Kind::Whole),
    optional("egress_time_ns", Kind::Whole),
];

/// The schema in the language of Parquet.
pub(super) fn text() -> String {
    let column = |column: &Column| {
        let presence = if column.is_optional { "optional" } else { "required" };
        let kind = match column.kind {
            Kind::Whole => "int64",
            Kind::Time => "int64",
            Kind::Text => "binary",
            Kind::Truth => "boolean",
        };
        let meaning = match column.kind {
            Kind::Time => " (TIMESTAMP(NANOS,true))",
            Kind::Text => " (UTF8)",
            Kind::Whole | Kind::Truth => "",
        };
        format!("    {presence} {kind} {}{meaning};\n", column.name)
    };
    let columns: String = COLUMNS.iter().map(column).collect();
    format!("message hops {{\n{columns}}}")
}
