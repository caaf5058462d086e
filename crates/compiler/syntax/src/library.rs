//! Which library file declares a well-known name, for the messages about its absence.

/// The file that a program must include to have this name; none for a name of its own.
pub fn library_of(name: &str) -> Option<&'static str> {
    CORE.contains(&name)
        .then_some("core.p4")
        .or_else(|| V1MODEL.contains(&name).then_some("v1model.p4"))
        .or_else(|| PSA.contains(&name).then_some("psa.p4"))
        .or_else(|| PNA.contains(&name).then_some("pna.p4"))
        .or_else(|| FOREBAY.contains(&name).then_some("forebay.p4"))
}

/// Files that declare an architecture, of which a program includes one, and the packages by which they are known.
const ARCHITECTURES: [(&str, &str); 3] = [
    ("v1model.p4", "V1Switch"),
    ("psa.p4", "PSA_Switch"),
    ("pna.p4", "PNA_NIC"),
];

/// The file of the architecture that a program includes, by the packages that are declared.
pub fn included_architecture(is_declared: impl Fn(&str) -> bool) -> Option<&'static str> {
    let mut known = ARCHITECTURES.iter();
    known.find(|(_, package)| is_declared(package)).map(|(file, _)| *file)
}

/// Whether a file declares an architecture.
pub(crate) fn is_architecture(file: &str) -> bool {
    ARCHITECTURES.iter().any(|(known, _)| *known == file)
}

/// What an architecture has in place of another one's name.
pub(crate) fn in_place_of(name: &str, architecture: &str) -> Option<&'static str> {
    let (_, _, own) = IN_PLACE_OF
        .iter()
        .find(|(other, file, _)| *other == name && *file == architecture)?;
    Some(*own)
}

/// Names, another architecture, and what that has in their place.
const IN_PLACE_OF: &[(&str, &str, &str)] = &[
    (
        "mark_to_drop",
        "psa.p4",
        "`ingress_drop(ostd);` or `egress_drop(ostd);`",
    ),
    ("mark_to_drop", "pna.p4", "`drop_packet();`"),
    ("ingress_drop", "v1model.p4", "`mark_to_drop(standard_metadata);`"),
    ("egress_drop", "v1model.p4", "`mark_to_drop(standard_metadata);`"),
    ("drop_packet", "v1model.p4", "`mark_to_drop(standard_metadata);`"),
    ("drop_packet", "psa.p4", "`ingress_drop(ostd);` or `egress_drop(ostd);`"),
    ("send_to_port", "v1model.p4", "`standard_metadata.egress_spec = PORT;`"),
    (
        "standard_metadata_t",
        "psa.p4",
        "`psa_ingress_input_metadata_t` and others",
    ),
    (
        "standard_metadata_t",
        "pna.p4",
        "`pna_main_input_metadata_t` and others",
    ),
];

/// Names of core.p4, the members of its `error` and `match_kind` among them.
const CORE: &[&str] = &[
    "packet_in",
    "packet_out",
    "NoAction",
    "verify",
    "static_assert",
    "exact",
    "ternary",
    "lpm",
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

/// Names of v1model.p4.
const V1MODEL: &[&str] = &[
    "standard_metadata_t",
    "V1Switch",
    "range",
    "optional",
    "selector",
    "CounterType",
    "MeterType",
    "HashAlgorithm",
    "CloneType",
    "counter",
    "direct_counter",
    "meter",
    "direct_meter",
    "register",
    "action_profile",
    "action_selector",
    "random",
    "digest",
    "mark_to_drop",
    "hash",
    "verify_checksum",
    "update_checksum",
    "verify_checksum_with_payload",
    "update_checksum_with_payload",
    "clone",
    "clone3",
    "clone_preserving_field_list",
    "resubmit_preserving_field_list",
    "recirculate_preserving_field_list",
    "truncate",
    "assert",
    "assume",
    "log_msg",
    "V1MODEL_METER_COLOR_GREEN",
    "V1MODEL_METER_COLOR_YELLOW",
    "V1MODEL_METER_COLOR_RED",
];

/// Names of psa.p4.
const PSA: &[&str] = &[
    "PSA_Switch",
    "IngressPipeline",
    "EgressPipeline",
    "PacketReplicationEngine",
    "BufferingQueueingEngine",
    "ingress_drop",
    "egress_drop",
    "send_to_port",
    "PSA_PacketPath_t",
    "PSA_MeterColor_t",
    "PSA_HashAlgorithm_t",
    "psa_ingress_parser_input_metadata_t",
    "psa_egress_parser_input_metadata_t",
    "psa_ingress_input_metadata_t",
    "psa_ingress_output_metadata_t",
    "psa_egress_input_metadata_t",
    "psa_egress_output_metadata_t",
    "psa_egress_deparser_input_metadata_t",
];

/// Names of pna.p4.
const PNA: &[&str] = &[
    "PNA_NIC",
    "PNA_Direction_t",
    "PNA_MeterColor_t",
    "PNA_HashAlgorithm_t",
    "pna_pre_input_metadata_t",
    "pna_pre_output_metadata_t",
    "pna_main_parser_input_metadata_t",
    "pna_main_input_metadata_t",
    "pna_main_output_metadata_t",
    "SelectByDirection",
    "is_host_port",
    "is_net_port",
    "drop_packet",
    "mirror_packet",
    "add_entry_if",
    "set_entry_expire_time_if",
    "update_expire_info",
];

/// Names of forebay.p4, some of which pna.p4 has too.
const FOREBAY: &[&str] = &[
    "add_entry",
    "add_entry_pair",
    "NumberPool",
    "Quota",
    "set_entry_expire_time",
    "restart_expire_timer",
    "allocate_flow_id",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_their_files() {
        assert_eq!(library_of("packet_in"), Some("core.p4"));
        assert_eq!(library_of("register"), Some("v1model.p4"));
        assert_eq!(library_of("PSA_Switch"), Some("psa.p4"));
        assert_eq!(library_of("my_register"), None);
    }

    #[test]
    fn architectures_are_known_by_their_packages() {
        assert_eq!(included_architecture(|name| name == "PNA_NIC"), Some("pna.p4"));
        assert_eq!(included_architecture(|name| name == "MyPackage"), None);
        for (name, architecture, _) in IN_PLACE_OF {
            assert!(library_of(name).is_some_and(|file| file != *architecture), "{name}");
            assert!(is_architecture(architecture));
        }
    }

    #[test]
    fn files_declare_the_names() {
        let lists = [
            ("core.p4", CORE),
            ("v1model.p4", V1MODEL),
            ("psa.p4", PSA),
            ("pna.p4", PNA),
            ("forebay.p4", FOREBAY),
        ];
        for (file, names) in lists {
            let text = crate::source::library(file).expect("the file is built in");
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let words: std::collections::HashSet<&str> = text.split(|letter: char| !is_part(letter)).collect();
            for name in names {
                assert!(words.contains(name), "{file} has no `{name}`");
            }
        }
    }
}
