#include <v1model.p4>

header report_t {
    bit<16> length;
    bit<19> depth;
    bit<32> waited;
    bit<5> pad;
}

struct headers_t {
    report_t report;
}

struct meta_t {
    @field_list(1) bit<3> class;
}

parser QParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.report);
        transition accept;
    }
}

control QVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true, { hdr.report.depth, hdr.report.pad }, hdr.report.length, HashAlgorithm.csum16);
    }
}

control QIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.class == 0) {
            meta.class = hdr.report.pad[2:0];
            resubmit_preserving_field_list(1);
        }
        standard_metadata.priority = meta.class;
        standard_metadata.egress_spec = 2;
        truncate(64);
    }
}

control QEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.length = (bit<16>) standard_metadata.packet_length;
        hdr.report.depth = standard_metadata.deq_qdepth;
        hdr.report.waited = standard_metadata.deq_timedelta;
        if (standard_metadata.instance_type == 0) {
            clone(CloneType.E2E, 7);
        }
    }
}

control QCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.report.depth, hdr.report.pad }, hdr.report.length, HashAlgorithm.csum16);
    }
}

control QDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
    }
}

V1Switch(QParser(), QVerify(), QIngress(), QEgress(), QCompute(), QDeparser()) main;
