//! What can be wrong with a datagram.

/// Why a datagram, or the rest of it, was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Malformed {
    /// It ends within the group header.
    GroupHeader,
    /// It is of another version of the format.
    Version,
    /// It has no report.
    Empty,
    /// It ends within the header of a report.
    ReportHeader,
    /// A report is longer than the datagram.
    ReportLength,
    /// A report is neither of type INT nor a packet alone.
    ReportType,
    /// A report ends within the fixed part of its main contents.
    MainContents,
    /// A report has other metadata than it announces, or ends within them.
    MetadataLength,
    /// The packet is not Ethernet, IPv4 or IPv6.
    InnerType,
    /// The shim header or the INT header of the packet is wrong.
    IntHeader,
    /// The INT stack of the packet does not consist of whole hops.
    IntStack,
}

impl Malformed {
    /// All of them, in the order of their declaration.
    pub const ALL: [Malformed; 11] = [
        Malformed::GroupHeader,
        Malformed::Version,
        Malformed::Empty,
        Malformed::ReportHeader,
        Malformed::ReportLength,
        Malformed::ReportType,
        Malformed::MainContents,
        Malformed::MetadataLength,
        Malformed::InnerType,
        Malformed::IntHeader,
        Malformed::IntStack,
    ];

    /// The stable name, for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Malformed::GroupHeader => "group_header",
            Malformed::Version => "version",
            Malformed::Empty => "empty",
            Malformed::ReportHeader => "report_header",
            Malformed::ReportLength => "report_length",
            Malformed::ReportType => "report_type",
            Malformed::MainContents => "main_contents",
            Malformed::MetadataLength => "metadata_length",
            Malformed::InnerType => "inner_type",
            Malformed::IntHeader => "int_header",
            Malformed::IntStack => "int_stack",
        }
    }
}
