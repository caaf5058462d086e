// A key-value cache: gets are answered from registers when the key is cached, puts update it, others go to the server.

#include <v1model.p4>

enum bit<8> operation_t {
    get = 0,
    put = 1,
    answer = 2
}

header request_t {
    operation_t operation;
    bit<32> key;
    bit<64> value;
}

struct headers_t {
    request_t request;
}

struct meta_t {
    bit<32> slot;
}

const bit<9> SERVER = 8;

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<64>>(16) values;
    register<bit<1>>(16) valid;

    action cached(bit<32> slot) {
        meta.slot = slot;
    }

    table keys {
        key = {
            hdr.request.key: exact;
        }
        actions = {
            cached;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        standard_metadata.egress_spec = SERVER;
        if (!hdr.request.isValid()) {
            mark_to_drop(standard_metadata);
        } else if (keys.apply().hit) {
            bit<1> is_valid;
            valid.read(is_valid, meta.slot);
            switch (hdr.request.operation) {
                operation_t.get: {
                    if (is_valid == 1) {
                        values.read(hdr.request.value, meta.slot);
                        hdr.request.operation = operation_t.answer;
                        standard_metadata.egress_spec = standard_metadata.ingress_port;
                    }
                }
                operation_t.put: {
                    values.write(meta.slot, hdr.request.value);
                    valid.write(meta.slot, 1);
                }
            }
        }
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
