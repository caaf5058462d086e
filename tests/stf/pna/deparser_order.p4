// The deparser decides the order of headers, and leaves out those that are not valid.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

header label_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    label_t label;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    apply {
        send_to_port((PortId_t) 2);
        if (hdr.input.kind == 1) {
            hdr.label.setValid();
            hdr.label.value = 0xcc;
        } else if (hdr.input.kind == 2) {
            hdr.input.setInvalid();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr.label);
        packet.emit(hdr.input);
    }
}

#define MAIN TestMain
#define DEPARSER TestDeparser
#include "../include/pna_skeleton.p4"
