// IPv4 in IPv4: packets of port 1 are put in an outer header, those of port 2 lose theirs; lengths and checksum.

#include <v1model.p4>

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ipv4_t outer;
    ipv4_t ipv4;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol, standard_metadata.ingress_port) {
            (4, 2): inner;
            default: accept;
        }
    }

    state inner {
        hdr.outer = hdr.ipv4;
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.ingress_port == 1) {
            hdr.outer = hdr.ipv4;
            hdr.outer.diffserv = 0;
            hdr.outer.identification = 0;
            hdr.outer.total_length = hdr.ipv4.total_length + 20;
            hdr.outer.ttl = 64;
            hdr.outer.protocol = 4;
            hdr.outer.source = 0xC0000201;
            hdr.outer.destination = 0xC0000202;
            standard_metadata.egress_spec = 2;
        } else if (hdr.outer.isValid()) {
            hdr.ipv4.diffserv = hdr.outer.diffserv;
            hdr.outer.setInvalid();
            standard_metadata.egress_spec = 1;
        } else {
            mark_to_drop(standard_metadata);
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SwitchCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.outer.isValid(),
            { hdr.outer.version, hdr.outer.ihl, hdr.outer.diffserv, hdr.outer.total_length, hdr.outer.identification,
              hdr.outer.flags, hdr.outer.fragment_offset, hdr.outer.ttl, hdr.outer.protocol, hdr.outer.source,
              hdr.outer.destination },
            hdr.outer.checksum, HashAlgorithm.csum16);
    }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchCompute(), SwitchDeparser()) main;
