#include <psa.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {
    bit<8> round;
}

struct none_t {}

struct again_t {
    bit<8> round;
}

parser FromPort(
        packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
        in again_t resubmit_meta, in none_t recirculate_meta) {
    state start {
        meta.round = resubmit_meta.round;
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Choose(
        inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
        inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
        ostd.clone = hdr.ethernet.ether_type == 0x1234;
        ostd.clone_session_id = (CloneSessionId_t) 3;
        ostd.resubmit = istd.packet_path == PSA_PacketPath_t.NORMAL;
    }
}

control ToQueue(
        packet_out packet, out again_t clone_i2e_meta, out again_t resubmit_meta, out again_t normal_meta,
        inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_resubmit(istd)) {
            resubmit_meta = { meta.round + 1 };
        }
        if (psa_normal(istd)) {
            normal_meta = { meta.round };
        }
        packet.emit(hdr.ethernet);
    }
}

parser FromQueue(
        packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
        in again_t normal_meta, in again_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        meta.round = normal_meta.round;
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Last(
        inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
        inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.ethernet.src_addr[7:0] = meta.round;
    }
}

control ToPort(
        packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr, in meta_t meta,
        in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

IngressPipeline(FromPort(), Choose(), ToQueue()) ingress;
EgressPipeline(FromQueue(), Last(), ToPort()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
