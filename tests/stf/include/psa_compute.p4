// The rest of a PSA program that shows what one control computes. A test declares the headers input_t and output_t and
//
//   control Test(in input_t input, inout output_t output)
//
// and includes this file at its end. A packet begins with input_t; it leaves by port 2 with output_t in its place, and
// with its payload. Egress does nothing.

struct headers_t {
    input_t input;
    output_t output;
}

struct meta_t {}

#define NO_METADATA
struct none_t {}

control ComputeIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                       inout psa_ingress_output_metadata_t ostd) {
    apply {
        hdr.output.setValid();
        Test.apply(hdr.input, hdr.output);
        hdr.input.setInvalid();
        send_to_port(ostd, (PortId_t) 2);
    }
}

parser NoEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                      in psa_egress_parser_input_metadata_t istd, in none_t normal_meta,
                      in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        transition accept;
    }
}

#define INGRESS ComputeIngress
#define EGRESS_PARSER NoEgressParser
#include "psa_skeleton.p4"
