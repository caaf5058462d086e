// Slow path: a new header of whole bytes is emitted before a field of variable length. What follows it in the output stands right
// behind it.
#include <core.p4>
#include <v1model.p4>

header length_t {
    bit<8> bytes;
}

header options_t {
    varbit<64> data;
}

header mark_t {
    bit<8> kind;
    bit<8> version;
    bit<16> length;
    bit<32> first;
    bit<16> second;
    bit<16> third;
    bit<32> fourth;
}

struct headers_t {
    length_t length;
    mark_t mark;
    options_t options;
}

struct metadata_t {
    @field_list(0)
    bit<8> rounds;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.length);
        packet.extract(hdr.options, (bit<32>)hdr.length.bytes << 3);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Mark(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>>(1) seen;

    apply {
        standard.egress_spec = 2;
        // A packet that may be resubmitted after state has changed stays off the fast path.
        seen.write(0, (bit<32>)hdr.length.bytes);
        if (hdr.length.bytes == 0xff) {
            resubmit_preserving_field_list(0);
        }
        hdr.mark.setValid();
        hdr.mark.kind = hdr.length.bytes;
        hdr.mark.version = 1;
        hdr.mark.length = 2;
        hdr.mark.first = 3;
        hdr.mark.second = 4;
        hdr.mark.third = 5;
        hdr.mark.fourth = 6;
    }
}

control Pass(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.length);
        packet.emit(hdr.mark);
        packet.emit(hdr.options);
    }
}

V1Switch(Parse(), Verify(), Mark(), Pass(), Compute(), Deparse()) main;
