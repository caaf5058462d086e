//! What programs of the architectures write differently: blocks around the controls, objects, requests.

use super::{ELEMENTS, Place, Writer};

/// An architecture's way to write a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    V1Model,
    Psa,
    Pna,
}

impl Dialect {
    /// Half of the programs are for v1model.
    pub(super) fn of_seed(seed: u64) -> Dialect {
        match seed % 6 {
            1 | 3 => Dialect::Psa,
            5 => Dialect::Pna,
            _ => Dialect::V1Model,
        }
    }

    fn include(self) -> &'static str {
        match self {
            Dialect::V1Model => "v1model",
            Dialect::Psa => "psa",
            Dialect::Pna => "pna",
        }
    }

    /// The head of a control, with its instances of objects of the architecture.
    pub(super) fn control_head(self, name: &str, place: Place) -> String {
        let of_switch = match (self, place) {
            (Dialect::V1Model, _) => "inout standard_metadata_t sm",
            (Dialect::Psa, Place::Egress) => "in psa_egress_input_metadata_t sm, inout psa_egress_output_metadata_t om",
            (Dialect::Psa, _) => "in psa_ingress_input_metadata_t sm, inout psa_ingress_output_metadata_t om",
            (Dialect::Pna, _) => "in pna_main_input_metadata_t sm, inout pna_main_output_metadata_t om",
        };
        format!("control {name}(inout headers_t hdr, inout metadata_t meta, {of_switch}) {{")
    }

    /// What a control reads of the architecture: expressions with their widths.
    pub(super) fn readable(self, place: Place) -> Vec<(&'static str, u32)> {
        match (self, place) {
            (Dialect::V1Model, _) => vec![("sm.ingress_port", 9), ("sm.packet_length", 32)],
            (Dialect::Psa, Place::Egress) => vec![
                ("((bit<32>)(PortIdUint_t) sm.egress_port)", 32),
                ("((bit<16>)(EgressInstanceUint_t) sm.instance)", 16),
                ("((bit<8>)(ClassOfServiceUint_t) sm.class_of_service)", 8),
            ],
            (Dialect::Psa, _) => vec![("((bit<32>)(PortIdUint_t) sm.ingress_port)", 32)],
            (Dialect::Pna, _) => vec![("((bit<32>)(PortIdUint_t) sm.input_port)", 32)],
        }
    }

    /// Sends the packet to a port, an expression of 32 bits (9 for v1model).
    pub(super) fn send(self, port: &str) -> String {
        match self {
            Dialect::V1Model => format!("sm.egress_spec = {port};"),
            Dialect::Psa => format!("send_to_port(om, (PortId_t)(PortIdUint_t)({port}));"),
            Dialect::Pna => format!("send_to_port((PortId_t)(PortIdUint_t)({port}));"),
        }
    }

    pub(super) fn port_width(self) -> u32 {
        match self {
            Dialect::V1Model => 9,
            Dialect::Psa | Dialect::Pna => 32,
        }
    }

    /// A declaration of a register with elements of `width` bits.
    pub(super) fn register(self, width: u32, name: &str) -> String {
        match self {
            Dialect::V1Model => format!("register<bit<{width}>>({ELEMENTS}) {name};"),
            Dialect::Psa | Dialect::Pna => format!("Register<bit<{width}>, bit<32>>({ELEMENTS}) {name};"),
        }
    }

    pub(super) fn register_read(self, register: &str, target: &str, index: &str) -> String {
        match self {
            Dialect::V1Model => format!("{register}.read({target}, {index});"),
            Dialect::Psa | Dialect::Pna => format!("{target} = {register}.read({index});"),
        }
    }

    pub(super) fn counter(self, name: &str, counts_bytes: bool) -> String {
        match (self, counts_bytes) {
            (Dialect::V1Model, _) => format!("counter({ELEMENTS}, CounterType.packets_and_bytes) {name};"),
            (Dialect::Psa, true) => {
                format!("Counter<bit<64>, bit<32>>({ELEMENTS}, PSA_CounterType_t.PACKETS_AND_BYTES) {name};")
            }
            (Dialect::Psa, false) => {
                format!("Counter<bit<64>, bit<32>>({ELEMENTS}, PSA_CounterType_t.PACKETS) {name};")
            }
            (Dialect::Pna, _) => {
                format!("Counter<bit<64>, bit<32>>({ELEMENTS}, PNA_CounterType_t.PACKETS_AND_BYTES) {name};")
            }
        }
    }

    /// An action profile, or selector, of 16 members: its declaration, and the property of a table that has it.
    pub(super) fn implementation(self, selects: bool, name: &str) -> (String, String) {
        let (declaration, property) = match (self, selects) {
            (Dialect::V1Model, false) => ("action_profile(16)", "implementation"),
            (Dialect::V1Model, true) => ("action_selector(HashAlgorithm.crc16, 16, 16)", "implementation"),
            (Dialect::Psa, false) => ("ActionProfile(16)", "psa_implementation"),
            (Dialect::Psa, true) => (
                "ActionSelector(PSA_HashAlgorithm_t.CRC16, 16, 16)",
                "psa_implementation",
            ),
            (Dialect::Pna, false) => ("ActionProfile(16)", "pna_implementation"),
            (Dialect::Pna, true) => (
                "ActionSelector(PNA_HashAlgorithm_t.CRC16, 16, 16)",
                "pna_implementation",
            ),
        };
        (format!("{declaration} {name};"), format!("{property} = {name};"))
    }

    /// A counter of a table's entries: its declaration, and the property of the table.
    pub(super) fn direct_counter(self, name: &str) -> (String, String) {
        let (declaration, property) = match self {
            Dialect::V1Model => ("direct_counter(CounterType.packets_and_bytes)", "counters"),
            Dialect::Psa => (
                "DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS_AND_BYTES)",
                "psa_direct_counter",
            ),
            Dialect::Pna => (
                "DirectCounter<bit<64>>(PNA_CounterType_t.PACKETS_AND_BYTES)",
                "pna_direct_counter",
            ),
        };
        (format!("{declaration} {name};"), format!("{property} = {name};"))
    }

    /// The metadata of the architecture with which a control calls another.
    pub(super) fn passed_on(self) -> &'static str {
        match self {
            Dialect::V1Model => "sm",
            Dialect::Psa | Dialect::Pna => "sm, om",
        }
    }

    /// The name of the enumeration of hashes, where they are objects.
    pub(super) fn hashes(self) -> Option<&'static str> {
        match self {
            Dialect::V1Model => None,
            Dialect::Psa => Some("PSA_HashAlgorithm_t"),
            Dialect::Pna => Some("PNA_HashAlgorithm_t"),
        }
    }

    /// What ends a packet's way, or makes several of it, by a number below 9; nothing when there is no such thing here.
    /// The caller must count further rounds.
    pub(super) fn rare(self, place: Place, number: usize) -> Option<&'static str> {
        let said = match (self, place, number) {
            (Dialect::V1Model, _, 0) => "mark_to_drop(sm);",
            (Dialect::V1Model, Place::Ingress, 3 | 4) => "sm.mcast_grp = (bit<16>)(meta.m0) & 3;",
            (Dialect::V1Model, Place::Ingress, 5) => "clone_preserving_field_list(CloneType.I2E, 5, 1);",
            (Dialect::V1Model, Place::Egress, 3) => "clone_preserving_field_list(CloneType.E2E, 5, 1);",
            (Dialect::V1Model, Place::Ingress, 6) => "resubmit_preserving_field_list(1);",
            (Dialect::V1Model, Place::Egress, 4) => "recirculate_preserving_field_list(1);",
            (Dialect::V1Model, _, 7) => "truncate(40);",
            (Dialect::V1Model, Place::Ingress | Place::Egress, 8) => {
                "digest<message_t>(1, { meta.m0, (bit<32>) sm.ingress_port });"
            }
            (Dialect::Psa, Place::Ingress | Place::Action, 0) => "ingress_drop(om);",
            (Dialect::Psa, Place::Egress, 0) => "egress_drop(om);",
            (Dialect::Psa, Place::Ingress, 3 | 4) => {
                "multicast(om, (MulticastGroup_t)(MulticastGroupUint_t)((bit<32>)(meta.m0) & 3));"
            }
            (Dialect::Psa, Place::Ingress | Place::Egress, 5) => {
                "om.clone = true; om.clone_session_id = (CloneSessionId_t) 5;"
            }
            (Dialect::Psa, Place::Ingress, 6) => "om.resubmit = true;",
            (Dialect::Psa, Place::Ingress, 7) => "send_to_port(om, PSA_PORT_RECIRCULATE);",
            (Dialect::Pna, Place::Ingress | Place::Action, 0) => "drop_packet();",
            (Dialect::Pna, Place::Ingress, 5) => "mirror_packet((MirrorSlotId_t) 1, (MirrorSessionId_t) 5);",
            (Dialect::Pna, Place::Ingress, 6) => "recirculate();",
            _ => return None,
        };
        Some(said)
    }

    /// Whether a packet may come round again, or be cloned, by what [`Dialect::rare`] says.
    pub(super) fn goes_again(said: &str) -> bool {
        let again = [
            "preserving",
            "clone = true",
            "resubmit",
            "RECIRCULATE",
            "mirror",
            "recirculate",
        ];
        again.iter().any(|word| said.contains(word))
    }
}

impl Writer<'_> {
    /// All that stands around the declarations.
    pub(super) fn blocks(&mut self) {
        let include = self.dialect.include();
        self.line("#include <core.p4>");
        self.line(&format!("#include <{include}.p4>"));
        self.declarations();
        self.functions();
        match self.dialect {
            Dialect::V1Model => self.v1model(),
            Dialect::Psa => self.psa(),
            Dialect::Pna => self.pna(),
        }
    }

    fn v1model(&mut self) {
        self.parser(
            "parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {",
            &[],
        );
        self.checksums();
        self.sub_control(Place::Ingress);
        self.control("I", Place::Ingress);
        self.sub_control(Place::Egress);
        self.control("E", Place::Egress);
        self.deparser("D(packet_out packet, in headers_t hdr)", &[]);
        self.line("V1Switch(P(), Verify(), I(), E(), Compute(), D()) main;");
    }

    fn psa(&mut self) {
        self.line("struct kept_t { bit<8> rounds; bit<8> m0; }");
        let with = |name: &str, metadata: &str| {
            format!("parser {name}(packet_in packet, out headers_t hdr, inout metadata_t meta, {metadata}) {{")
        };
        self.parser(
            &with(
                "IP",
                "in psa_ingress_parser_input_metadata_t sm, in kept_t resubmitted, in kept_t recirculated",
            ),
            &[
                "meta.rounds = resubmitted.rounds | recirculated.rounds;",
                "meta.m0 = resubmitted.m0;",
            ],
        );
        self.sub_control(Place::Ingress);
        self.control("I", Place::Ingress);
        let kept = |name: &str| {
            [
                format!("{name}.rounds = meta.rounds;"),
                format!("{name}.m0 = meta.m0 + 1;"),
            ]
        };
        let lines: Vec<String> = ["cloned", "again", "normal"]
            .iter()
            .flat_map(|name| kept(name))
            .collect();
        self.deparser(
            "ID(packet_out packet, out kept_t cloned, out kept_t again, out kept_t normal, inout headers_t hdr, \
             in metadata_t meta, in psa_ingress_output_metadata_t istd)",
            &lines,
        );
        self.parser(
            &with(
                "EP",
                "in psa_egress_parser_input_metadata_t sm, in kept_t normal, in kept_t cloned, in kept_t cloned_again",
            ),
            &[
                "meta.rounds = normal.rounds | cloned.rounds | cloned_again.rounds;",
                "meta.m0 = normal.m0;",
            ],
        );
        self.sub_control(Place::Egress);
        self.control("E", Place::Egress);
        let lines: Vec<String> = ["cloned", "again"].iter().flat_map(|name| kept(name)).collect();
        self.deparser(
            "ED(packet_out packet, out kept_t cloned, out kept_t again, inout headers_t hdr, in metadata_t meta, \
             in psa_egress_output_metadata_t ostd, in psa_egress_deparser_input_metadata_t edstd)",
            &lines,
        );
        self.line("IngressPipeline(IP(), I(), ID()) ingress;");
        self.line("EgressPipeline(EP(), E(), ED()) egress;");
        self.line("PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;");
    }

    fn pna(&mut self) {
        self.parser(
            "parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, \
             in pna_main_parser_input_metadata_t sm) {",
            &[],
        );
        self.line("control Pre(in headers_t hdr, inout metadata_t meta, in pna_pre_input_metadata_t sm,");
        self.line("            inout pna_pre_output_metadata_t om) {");
        self.line("    apply { meta.m0 = meta.m0 + 1; }");
        self.line("}");
        self.sub_control(Place::Ingress);
        self.control("I", Place::Ingress);
        self.deparser(
            "D(packet_out packet, in headers_t hdr, in metadata_t meta, in pna_main_output_metadata_t ostd)",
            &[],
        );
        self.line("PNA_NIC(P(), Pre(), I(), D()) main;");
    }
}
