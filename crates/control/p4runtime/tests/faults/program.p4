// A table whose ports are strings, a register, a meter and a digest: what controllers write of each must survive every fault of a disk.

#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<9> port_name_t;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

struct seen_t {
    bit<48> address;
}

parser FaultParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control FaultVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control FaultIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<32>>(4) marks;
    meter(2, MeterType.packets) rates;

    action forward(port_name_t port) {
        standard_metadata.egress_spec = (bit<9>) port;
    }

    table addresses {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            forward;
            @defaultonly NoAction;
        }
        size = 64;
    }

    apply {
        bit<32> mark;
        bit<2> color;
        addresses.apply();
        marks.read(mark, 0);
        rates.execute_meter(0, color);
        hdr.ethernet.ether_type = mark[15:0] + (bit<16>) color;
        digest<seen_t>(1, { hdr.ethernet.src_addr });
    }
}

control FaultEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control FaultCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control FaultDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(FaultParser(), FaultVerify(), FaultIngress(), FaultEgress(), FaultCompute(), FaultDeparser()) main;
