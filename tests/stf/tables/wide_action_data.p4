// Action data wider than 64 bits, with narrower data after it, as a session of 96 bits has it.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8> number;
}

header answer_t {
    bit<96>  session;
    bit<32>  counter;
    bit<200> label;
    bit<8>   last;
    bit<32>  rule;
}

struct headers_t {
    request_t request;
    answer_t  answer;
}

struct metadata_t {
    bit<96> session;
    bit<32> rule;
}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control TheVerification(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action attributes(bit<16> port, bit<96> session, bit<32> counter, bit<32> rule, bit<200> label, bit<8> last) {
        standard.egress_spec = (bit<9>) port;
        meta.session = session;
        meta.rule = rule;
        hdr.answer.setValid();
        hdr.answer.session = session;
        hdr.answer.counter = counter;
        hdr.answer.label = label;
        hdr.answer.last = last;
    }

    action found(bit<32> rule) {
        hdr.answer.rule = rule;
    }

    table sessions {
        key = {
            hdr.request.number: exact;
        }
        actions = {
            attributes;
        }
    }

    table rules {
        key = {
            meta.session: exact;
            meta.rule: exact;
        }
        actions = {
            found;
        }
    }

    apply {
        sessions.apply();
        rules.apply();
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control TheComputation(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
        packet.emit(hdr.answer);
    }
}

V1Switch(TheParser(), TheVerification(), TheIngress(), TheEgress(), TheComputation(), TheDeparser()) main;
