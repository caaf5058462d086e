//! In a program with more live values than registers, most values have no register; the engines still agree.

use forebay_differential::compare_text;

/// Headers, each with a condition of its own.
const HEADERS: usize = 110;

fn program() -> String {
    let lines = |line: &dyn Fn(usize) -> String| (0..HEADERS).map(line).collect::<Vec<_>>().join("\n");
    let declared = lines(&|i| format!("    data_t h{i};"));
    let added = lines(&|i| {
        format!(
            "        if (hdr.flags.bits[{i}:{i}] == 1) {{ hdr.h{i}.setValid(); hdr.h{i}.a = {i}; hdr.h{i}.b = (bit<16>) meta.sum; }}"
        )
    });
    let changed = lines(&|i| {
        format!(
            "        if (hdr.h{i}.isValid()) {{ meta.sum = meta.sum + 1; hdr.h{i}.b = hdr.h{i}.b + (bit<16>) meta.sum; }}"
        )
    });
    let bits = HEADERS.next_multiple_of(8);
    format!(
        "#include <core.p4>
#include <v1model.p4>
header flags_t {{ bit<{bits}> bits; }}
header data_t {{ bit<16> a; bit<16> b; }}
struct headers_t {{
    flags_t flags;
{declared}
}}
struct metadata_t {{ bit<32> sum; }}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ packet.extract(hdr.flags); transition accept; }}
}}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    apply {{
        sm.egress_spec = 2;
{added}
{changed}
    }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{ apply {{ }} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    )
}

#[test]
fn executors_agree_on_a_program_with_few_values_in_registers() {
    let compared = compare_text(1, &program(), 0, 2).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(compared.has_fast_path && compared.packets_out > 0);
}
