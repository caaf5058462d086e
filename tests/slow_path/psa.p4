// What keeps a PSA program in general code.
#include <core.p4>
#include <psa.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t byte;
}

struct none_t {}

parser IP(packet_in p, out headers_t h, inout none_t m, in psa_ingress_parser_input_metadata_t i, in none_t r, in none_t c) {
    state start {
        p.extract(h.byte);
        transition accept;
    }
}

control I(inout headers_t h, inout none_t m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    apply {
        send_to_port(o, (PortId_t) 2);
    }
}

control ID(packet_out p, out none_t c, out none_t r, out none_t n, inout headers_t h, in none_t m, in psa_ingress_output_metadata_t o) {
    apply {
        p.emit(h.byte);
        if (h.byte.value == 1) {
            p.emit(h.byte); // all: emits a header twice
        }
    }
}

parser EP(packet_in p, out headers_t h, inout none_t m, in psa_egress_parser_input_metadata_t i, in none_t n, in none_t a, in none_t b) {
    state start {
        transition accept;
    }
}

control E(inout headers_t h, inout none_t m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {
    apply {}
}

control ED(packet_out p, out none_t c, out none_t r, inout headers_t h, in none_t m, in psa_egress_output_metadata_t o,
           in psa_egress_deparser_input_metadata_t i) {
    apply {}
}

IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
