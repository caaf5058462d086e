// Linux TC: a transition to `reject` drops the packet; after another error the main control runs.

#include <core.p4>
#include <tc/pna.p4>

header kind_t {
    bit<8> kind;
}

header value_t {
    bit<16> value;
}

struct headers_t {
    kind_t kind;
    value_t value;
}

struct metadata_t {}

parser KindParser(packet_in packet, out headers_t hdr, inout metadata_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: parse_value;
            2: reject;
            3: checked;
            default: accept;
        }
    }

    state parse_value {
        packet.extract(hdr.value);
        transition accept;
    }

    state checked {
        verify(false, error.ParserInvalidArgument);
        transition reject;
    }
}

control Forward(inout headers_t hdr, inout metadata_t meta, in pna_main_input_metadata_t istd,
                inout pna_main_output_metadata_t ostd) {
    apply {
        send_to_port((PortId_t) (istd.parser_error == error.NoError ? 32w2 : 3));
    }
}

control KindDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr.kind);
        packet.emit(hdr.value);
    }
}

PNA_NIC(KindParser(), Forward(), KindDeparser()) main;
