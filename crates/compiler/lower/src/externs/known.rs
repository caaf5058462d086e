//! Names of the externs that can be executed, by architecture.

use forebay_ir::Architecture;

/// Extern functions that programs for an architecture may call.
pub fn functions(architecture: Architecture) -> Vec<&'static str> {
    let own = match architecture {
        Architecture::V1Model => V1MODEL_FUNCTIONS,
        Architecture::Psa => PSA_FUNCTIONS,
        Architecture::Pna => PNA_FUNCTIONS,
    };
    [CORE_FUNCTIONS, own, LEARNING_FUNCTIONS].concat()
}

/// Extern objects that programs for an architecture may instantiate.
pub fn objects(architecture: Architecture) -> Vec<&'static str> {
    let own: &[&[&str]] = match architecture {
        Architecture::V1Model => &[V1MODEL_OBJECTS],
        Architecture::Psa => &[PORTABLE_OBJECTS, PSA_OBJECTS],
        Architecture::Pna => &[PORTABLE_OBJECTS],
    };
    [&own.concat(), LEARNING_OBJECTS].concat()
}

const CORE_FUNCTIONS: &[&str] = &["verify", "static_assert"];

const V1MODEL_FUNCTIONS: &[&str] = &[
    "mark_to_drop",
    "random",
    "digest",
    "hash",
    "verify_checksum",
    "verify_checksum_with_payload",
    "update_checksum",
    "update_checksum_with_payload",
    "clone",
    "clone3",
    "clone_preserving_field_list",
    "resubmit",
    "resubmit_preserving_field_list",
    "recirculate",
    "recirculate_preserving_field_list",
    "truncate",
    "log_msg",
    "assert",
    "assume",
];

const PSA_FUNCTIONS: &[&str] = &[
    "psa_clone_i2e",
    "psa_resubmit",
    "psa_normal",
    "psa_clone_e2e",
    "psa_recirculate",
    "assert",
    "assume",
];

const PNA_FUNCTIONS: &[&str] = &[
    "drop_packet",
    "send_to_port",
    "mirror_packet",
    "recirculate",
    "SelectByDirection",
    "is_host_port",
    "is_net_port",
    "add_entry_if",
    "set_entry_expire_time_if",
    "update_expire_info",
];

/// The extern functions that forebay.p4 declares.
const LEARNING_FUNCTIONS: &[&str] = &[
    "add_entry",
    "add_entry_pair",
    "allocate_flow_id",
    "set_entry_expire_time",
    "restart_expire_timer",
];

const V1MODEL_OBJECTS: &[&str] = &[
    "counter",
    "direct_counter",
    "meter",
    "direct_meter",
    "register",
    "action_profile",
    "action_selector",
    "Checksum16",
];

const PORTABLE_OBJECTS: &[&str] = &[
    "Hash",
    "Checksum",
    "InternetChecksum",
    "Counter",
    "DirectCounter",
    "Meter",
    "DirectMeter",
    "Register",
    "Random",
    "ActionProfile",
    "ActionSelector",
    "Digest",
];

const PSA_OBJECTS: &[&str] = &["PacketReplicationEngine", "BufferingQueueingEngine"];

/// The extern objects that forebay.p4 declares.
const LEARNING_OBJECTS: &[&str] = &["NumberPool", "Quota"];
