// The blocks of a package without a pre control by their names, with type arguments.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}

control C(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
          inout pna_main_output_metadata_t ostd) {
    apply {
        hdr.input.kind = hdr.input.value;
        send_to_port((PortId_t) 2);
    }
}

control D(packet_out packet, inout headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr);
    }
}

PNA_NIC<headers_t, meta_t>(main_deparser = D(), main_control = C(), main_parser = P()) main;
