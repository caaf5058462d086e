// A calculator: the operation is a character, the result goes back to the sender; an unknown operation is dropped.

#include <v1model.p4>

header sum_t {
    bit<8> operation;
    bit<32> left;
    bit<32> right;
    bit<32> result;
}

struct headers_t {
    sum_t sum;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.sum);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action send_back(bit<32> result) {
        hdr.sum.result = result;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    action add() {
        send_back(hdr.sum.left + hdr.sum.right);
    }

    action subtract() {
        send_back(hdr.sum.left - hdr.sum.right);
    }

    action and_() {
        send_back(hdr.sum.left & hdr.sum.right);
    }

    action or_() {
        send_back(hdr.sum.left | hdr.sum.right);
    }

    action xor_() {
        send_back(hdr.sum.left ^ hdr.sum.right);
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table operations {
        key = {
            hdr.sum.operation: exact;
        }
        actions = {
            add;
            subtract;
            and_;
            or_;
            xor_;
            drop;
        }
        const default_action = drop();
        const entries = {
            0x2B: add();
            0x2D: subtract();
            0x26: and_();
            0x7C: or_();
            0x5E: xor_();
        }
    }

    apply {
        operations.apply();
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
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
