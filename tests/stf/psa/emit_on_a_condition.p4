// Both deparsers emit on conditions: a header if it is valid, one by metadata. Egress parses what ingress has emitted, and copies differ.
#include <psa.p4>

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
    label_t copy;
}

struct meta_t {
    bit<8> mark;
}

struct none_t {}
#define NO_METADATA

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        passes.write(0, hdr.input.value);
        hdr.label.setValid();
        hdr.label.value = 0xaa;
        meta.mark = hdr.input.kind;
        if (hdr.input.kind == 3) {
            hdr.label.setInvalid();
        }
        send_to_port(ostd, (PortId_t) 2);
        if (hdr.input.value == 9) {
            multicast(ostd, (MulticastGroup_t) 1);
        }
    }
}

#define INGRESS_DEPARSER TestIngressDeparser
control TestIngressDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
                            inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr.input);
        if (meta.mark != 1) {
            packet.emit(hdr.label);
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        meta.mark = (bit<8>) (EgressInstanceUint_t) istd.instance;
        hdr.copy.setValid();
        hdr.copy.value = 0xcc;
    }
}

#define EGRESS_DEPARSER TestEgressDeparser
control TestEgressDeparser(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta,
                           inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (hdr.input.isValid()) {
            packet.emit(hdr.input);
        }
        if (meta.mark == 7) {
            packet.emit(hdr.copy);
        }
    }
}

#include "../include/psa_skeleton.p4"
