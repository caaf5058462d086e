// The rest of a program that shows what one control computes. A test declares the headers input_t and output_t and
//
//   control Test(in input_t input, inout output_t output)
//
// and includes this file at its end. A packet begins with input_t; it leaves by port 2 with output_t in its place, and
// with its payload.

struct headers_t {
    input_t input;
    output_t output;
}

struct meta_t {}

control ComputeIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.output.setValid();
        Test.apply(hdr.input, hdr.output);
        hdr.input.setInvalid();
        standard_metadata.egress_spec = 2;
    }
}

#define INGRESS ComputeIngress
#include "skeleton.p4"
