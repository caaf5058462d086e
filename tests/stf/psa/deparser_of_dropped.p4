// A dropped packet is not put together, but its deparser's effects are there: digests, counters, registers.
#include <psa.p4>

header input_t {
    bit<8> drops;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define NO_METADATA
struct none_t {}

struct report_t {
    bit<8> value;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
        if (hdr.input.drops == 1) {
            ingress_drop(ostd);
        }
    }
}

#define INGRESS_DEPARSER TestIngressDeparser
control TestIngressDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta,
                            out none_t normal_meta, inout headers_t hdr, in meta_t meta,
                            in psa_ingress_output_metadata_t istd) {
    Digest<report_t>() reports;
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS) in_ingress;

    apply {
        in_ingress.count(hdr.input.value);
        reports.pack({ hdr.input.value });
        packet.emit(hdr);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        if (hdr.input.drops == 2) {
            egress_drop(ostd);
            exit;
        }
    }
}

#define EGRESS_DEPARSER TestEgressDeparser
control TestEgressDeparser(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta,
                           inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS) in_egress;

    apply {
        in_egress.count(hdr.input.value);
        packet.emit(hdr);
    }
}

#include "../include/psa_skeleton.p4"
