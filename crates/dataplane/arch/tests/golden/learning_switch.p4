#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {
    @field_list(1) bit<9> known_port;
}

struct learn_t {
    bit<48> address;
    bit<9> port;
}

parser L2Parser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control L2Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control L2Ingress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.known_port != standard_metadata.ingress_port) {
            digest<learn_t>(1, { hdr.ethernet.src_addr, standard_metadata.ingress_port });
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        }
        standard_metadata.mcast_grp = 1;
    }
}

control L2Egress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        }
        if (standard_metadata.deq_timedelta > 1000) {
            recirculate_preserving_field_list(1);
        }
    }
}

control L2Compute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control L2Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(L2Parser(), L2Verify(), L2Ingress(), L2Egress(), L2Compute(), L2Deparser()) main;
