// Both parsers of a PSA program take the labels of a stack in a loop: it ends with the stack, and nothing keeps packets
// out of specialised code.
#include <core.p4>
#include <psa.p4>

header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> ether_type; }
header label_t { bit<20> label; bit<3> traffic_class; bit<1> is_last; bit<8> ttl; }
header ipv4_t { bit<64> first; bit<32> second; bit<32> src_addr; bit<32> dst_addr; }
struct headers_t { ethernet_t ethernet; label_t[3] labels; ipv4_t ipv4; }
struct metadata_t {}
struct none_t {}

parser IngressParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta,
                         in psa_ingress_parser_input_metadata_t istd, in none_t resubmitted, in none_t recirculated) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x8847: label;
            0x0800: ipv4;
            default: accept;
        }
    }
    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.is_last) {
            1: ipv4;
            default: label;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control IngressImpl(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
    }
}

control IngressDeparserImpl(packet_out packet, out none_t cloned, out none_t resubmitted, out none_t normal,
                            inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr);
    }
}

parser EgressParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal, in none_t cloned_before,
                        in none_t cloned_after) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x8847: label;
            0x0800: ipv4;
            default: accept;
        }
    }
    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.is_last) {
            1: ipv4;
            default: label;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

// The outermost of several labels goes, a last one loses a hop.
control EgressImpl(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        if (hdr.labels[0].isValid()) {
            if (hdr.labels[0].is_last == 0) {
                hdr.labels.pop_front(1);
            } else {
                hdr.labels[0].ttl = hdr.labels[0].ttl - 1;
            }
        }
    }
}

control EgressDeparserImpl(packet_out packet, out none_t cloned, out none_t recirculated, inout headers_t hdr,
                           in metadata_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr);
    }
}

IngressPipeline(IngressParserImpl(), IngressImpl(), IngressDeparserImpl()) ingress_pipeline;
EgressPipeline(EgressParserImpl(), EgressImpl(), EgressDeparserImpl()) egress_pipeline;
PSA_Switch(ingress_pipeline, PacketReplicationEngine(), egress_pipeline, BufferingQueueingEngine()) main;
