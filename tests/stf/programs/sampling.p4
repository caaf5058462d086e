// Every fourth packet is mirrored with a header that says which one it was; a register counts.

#include <v1model.p4>

header data_t {
    bit<8> value;
}

header sample_t {
    bit<16> number;
    bit<16> length;
}

struct headers_t {
    sample_t sample;
    data_t data;
}

struct meta_t {
    @field_list(1)
    bit<16> number;
}

const bit<32> SESSION = 3;

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<16>>(1) packets;

    apply {
        packets.read(meta.number, 0);
        meta.number = meta.number + 1;
        packets.write(0, meta.number);
        if (meta.number[1:0] == 0) {
            clone_preserving_field_list(CloneType.I2E, SESSION, 1);
        }
        hdr.data.value = hdr.data.value | 0x80;
        standard_metadata.egress_spec = 2;
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 1) {
            hdr.sample = { meta.number, (bit<16>)standard_metadata.packet_length };
        }
    }
}

control SwitchCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchCompute(), SwitchDeparser()) main;
