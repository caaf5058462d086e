// The programs of this folder begin with this: headers, the parser, and what verifies nothing.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header tag_t {
    bit<16> number;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
    tag_t      tag;
    tag_t      new_tag;
}

struct metadata_t {
    bit<16> number;
    bit<1>  is_known;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.tag);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
