// A batch of messages is taken apart: every round sends one message as a clone and recirculates the rest of the batch.

#include <v1model.p4>

header batch_t {
    bit<8> count;
}

header message_t {
    bit<16> value;
}

struct headers_t {
    batch_t batch;
    message_t message;
}

struct meta_t {}

const bit<32> SESSION = 5;

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.batch);
        packet.extract(hdr.message);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.parser_error != error.NoError || hdr.batch.count == 0) {
            mark_to_drop(standard_metadata);
        } else {
            clone(CloneType.I2E, SESSION);
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 1) {
            // The copy: one message by itself.
            hdr.batch.setInvalid();
            truncate(2);
        } else {
            // The rest of the batch.
            hdr.batch.count = hdr.batch.count - 1;
            hdr.message.setInvalid();
            recirculate_preserving_field_list(0);
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
