#include <pna.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}

parser FromPort(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Before(
        in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd, inout pna_pre_output_metadata_t ostd) {
    apply {}
}

control Choose(
        inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
        inout pna_main_output_metadata_t ostd) {
    apply {
        mirror_packet((MirrorSlotId_t) 1, (MirrorSessionId_t) 3);
        if (istd.pass == (PassNumber_t) 0) {
            recirculate();
        } else {
            send_to_port(SelectByDirection(istd.direction, (PortId_t) 256, (PortId_t) 1));
        }
    }
}

control ToPort(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

PNA_NIC(FromPort(), Before(), Choose(), ToPort()) main;
