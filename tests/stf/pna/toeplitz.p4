// The Toeplitz hash of addresses, and of addresses and ports: the vectors of the specification of receive-side scaling.
#include <pna.p4>

header input_t {
    bit<32> source;
    bit<32> destination;
    bit<16> source_port;
    bit<16> destination_port;
    bit<32> of_addresses;
    bit<32> of_flow;
    bit<16> ranged;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Hash<bit<32>>(PNA_HashAlgorithm_t.TOEPLITZ) toeplitz;
    Hash<bit<16>>(PNA_HashAlgorithm_t.TOEPLITZ) queue;

    apply {
        send_to_port((PortId_t) 2);
        hdr.input.of_addresses = toeplitz.get_hash({ hdr.input.source, hdr.input.destination });
        hdr.input.of_flow = toeplitz.get_hash({
            hdr.input.source, hdr.input.destination, hdr.input.source_port, hdr.input.destination_port });
        hdr.input.ranged = queue.get_hash(16w0, { hdr.input.source, hdr.input.destination }, 16w1000);
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
