// What the switch forwards while controllers try to push it over: packets to any address leave by the other port. The
// tables are there to be filled.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> port;
    bit<7> padding;
}

struct headers_t {
    packet_in_t packet_in;
    ethernet_t ethernet;
}

struct metadata_t {}

parser SiegeParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control SiegeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table idle {
        key = { hdr.ethernet.src_addr: exact; }
        actions = { NoAction; }
        size = 1000000;
        support_timeout = true;
        default_action = NoAction();
    }

    table addresses {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; NoAction; }
        size = 2000000;
        default_action = NoAction();
    }

    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port == 1 ? 9w2 : 9w1;
        if (hdr.ethernet.ether_type == 0x88B5) {
            // What a controller is flooded with.
            standard_metadata.egress_spec = 510;
            hdr.packet_in.setValid();
            hdr.packet_in.port = standard_metadata.ingress_port;
        } else {
            idle.apply();
            addresses.apply();
        }
    }
}

control SiegeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SiegeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SiegeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(SiegeParser(), SiegeChecksum(), SiegeIngress(), SiegeEgress(), SiegeChecksum(), SiegeDeparser()) main;
