//! Counters, meters, registers, digests, value sets, packet metadata, other externs.

use super::{Any, MatchField, P4DataTypeSpec, P4NamedType, Preamble, SourceLocation, StructuredAnnotation};
use crate::field::{enumeration, message};

message! {
    /// What a counter counts.
    CounterSpec {
        /// Unit.
        1 "unit" unit: CounterUnit,
    }
}

enumeration! {
    /// What a counter counts.
    CounterUnit {
        /// Not specified.
        Unspecified = 0 "UNSPECIFIED",
        /// Bytes.
        Bytes = 1 "BYTES",
        /// Packets.
        Packets = 2 "PACKETS",
        /// Both.
        Both = 3 "BOTH",
    }
}

message! {
    /// A counter array.
    Counter {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// What is counted.
        2 "spec" spec: CounterSpec,
        /// Number of elements.
        3 "size" size: i64,
        /// Type of the index, if the program defines it.
        4 "index_type_name" index_type_name: Option<P4NamedType>,
    }
}

message! {
    /// A counter of a table's entries.
    DirectCounter {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// What is counted.
        2 "spec" spec: CounterSpec,
        /// Table.
        3 "direct_table_id" direct_table_id: u32,
    }
}

message! {
    /// What a meter measures.
    MeterSpec {
        /// Unit.
        1 "unit" unit: MeterUnit,
        /// Rates and colours.
        2 "type" meter_type: MeterType,
    }
}

enumeration! {
    /// What a meter measures.
    MeterUnit {
        /// Not specified.
        Unspecified = 0 "UNSPECIFIED",
        /// Bytes.
        Bytes = 1 "BYTES",
        /// Packets.
        Packets = 2 "PACKETS",
    }
}

enumeration! {
    /// Rates and colours of a meter.
    MeterType {
        /// RFC 2698.
        TwoRateThreeColor = 0 "TWO_RATE_THREE_COLOR",
        /// RFC 2697.
        SingleRateThreeColor = 1 "SINGLE_RATE_THREE_COLOR",
        /// RFC 2697 without excess burst: green or red.
        SingleRateTwoColor = 2 "SINGLE_RATE_TWO_COLOR",
    }
}

message! {
    /// A meter array.
    Meter {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// What is measured.
        2 "spec" spec: MeterSpec,
        /// Number of elements.
        3 "size" size: i64,
        /// Type of the index, if the program defines it.
        4 "index_type_name" index_type_name: Option<P4NamedType>,
    }
}

message! {
    /// A meter of a table's entries.
    DirectMeter {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// What is measured.
        2 "spec" spec: MeterSpec,
        /// Table.
        3 "direct_table_id" direct_table_id: u32,
    }
}

message! {
    /// The header of packets from or to the control plane (`@controller_header`).
    ControllerPacketMetadata {
        /// Name and alias are `packet_in` or `packet_out`; the id is that of the header type's name.
        1 "preamble" preamble: Preamble,
        /// Fields in order of the header.
        2 "metadata" metadata: Vec<Metadata>,
    }
}

message! {
    /// A field of the header of packets from or to the control plane.
    Metadata {
        /// Number within the header.
        1 "id" id: u32,
        /// Name.
        2 "name" name: String,
        /// Annotations.
        3 "annotations" annotations: Vec<String>,
        /// Width in bits.
        4 "bitwidth" bitwidth: i32,
        /// Its type, if the program defines it.
        5 "type_name" type_name: Option<P4NamedType>,
        /// Structured annotations.
        6 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        7 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// A parser value set.
    ValueSet {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// Components of an element.
        2 "match" match_fields: Vec<MatchField>,
        /// Number of elements that it must hold.
        3 "size" size: i32,
    }
}

message! {
    /// A register array.
    Register {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// Type of an element.
        2 "type_spec" type_spec: Option<P4DataTypeSpec>,
        /// Number of elements.
        3 "size" size: i32,
        /// Type of the index, if the program defines it.
        4 "index_type_name" index_type_name: Option<P4NamedType>,
    }
}

message! {
    /// A kind of message from the data plane.
    Digest {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// Type of a message.
        2 "type_spec" type_spec: Option<P4DataTypeSpec>,
    }
}

message! {
    /// Instances of one type of extern that P4Runtime does not know.
    Extern {
        /// Type, from 0x81 to 0xfe.
        1 "extern_type_id" extern_type_id: u32,
        /// Name of the type.
        2 "extern_type_name" extern_type_name: String,
        /// Instances.
        3 "instances" instances: Vec<ExternInstance>,
    }
}

message! {
    /// An instance of such an extern.
    ExternInstance {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// What its type says of it.
        2 "info" info: Option<Any>,
    }
}
