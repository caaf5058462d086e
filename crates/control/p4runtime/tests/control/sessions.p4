// Sessions that packets open: a number of a pool and a share of a quota for each, an entry in both tables.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> user;
    bit<8> port;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<32> number;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    NumberPool(4) numbers;
    Quota(256) shares;

    action translate(bit<32> number) {
        sm.egress_spec = (bit<9>) number;
    }

    action back(bit<8> user) {
        hdr.input.user = user;
    }

    action open() {
        bit<32> number;
        if (shares.take((bit<32>) hdr.input.user, 2) && numbers.claim(number)) {
            add_entry_pair("translate", { number }, "answers", { number }, "back", { hdr.input.user }, 8w0);
        }
    }

    @expire_seconds(60)
    table sessions {
        key = {
            hdr.input.user: exact;
            hdr.input.port: exact;
        }
        actions = {
            translate;
            @defaultonly open;
        }
        const default_action = open();
        add_on_miss = true;
    }

    @expire_seconds(60)
    table answers {
        key = {
            meta.number: exact;
        }
        actions = {
            back;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        add_on_miss = true;
    }

    apply {
        if (hdr.input.port == 0) {
            meta.number = (bit<32>) hdr.input.user;
            answers.apply();
        } else {
            sessions.apply();
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {}
}

control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.input);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), TestEgress(), Compute(), TestDeparser()) main;
