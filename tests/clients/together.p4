// For the test of features that meet: a table that controllers write, one to which packets add entries, a clone and a digest.

#include <core.p4>
#include <v1model.p4>
#include <forebay.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> kind;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}


parser TogetherParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control TogetherVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TogetherIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) hits;

    action seen(bit<9> port) {
        sm.egress_spec = port;
    }

    action new_source() {
        add_entry("seen", { sm.ingress_port }, 8w0);
        digest(1, { hdr.ethernet.source, sm.ingress_port });
    }

    @expire_seconds(2)
    table sources {
        key = {
            hdr.ethernet.source: exact;
        }
        actions = {
            seen;
            @defaultonly new_source;
        }
        const default_action = new_source();
        size = 100000;
        add_on_miss = true;
    }

    action forward(bit<9> port) {
        sm.egress_spec = port;
        hits.count();
    }

    action forward_and_clone(bit<9> port) {
        sm.egress_spec = port;
        hits.count();
        clone(CloneType.I2E, 1);
    }

    table destinations {
        key = {
            hdr.ethernet.destination: exact;
        }
        actions = {
            forward;
            forward_and_clone;
            @defaultonly NoAction;
        }
        counters = hits;
        size = 4096;
    }

    apply {
        sources.apply();
        destinations.apply();
    }
}

control TogetherEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {}
}

control TogetherCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TogetherDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(TogetherParser(), TogetherVerify(), TogetherIngress(), TogetherEgress(), TogetherCompute(), TogetherDeparser())
    main;
