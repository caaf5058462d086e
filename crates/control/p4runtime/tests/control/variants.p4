// What `entities.p4` has not: a table without key, one that begins with entries, selectors with limits, signed numbers, a key
// that is an error, structures and enums in registers, ports that controllers name by strings.
#include <core.p4>
#include <v1model.p4>

enum bit<8> kind_t {
    first = 1,
    second = 2
}

@p4runtime_translation("example.org/port", string)
type bit<9> port_name_t;

@controller_header("packet_out")
header packet_out_t {
    port_name_t port;
    bit<7> padding;
}

header small_t {
    bit<8> kind;
    bit<8> value;
    int<16> level;
}

struct pair_t {
    bit<8> first;
    int<16> second;
}

struct headers_t {
    packet_out_t packet_out;
    small_t small;
}

struct metadata_t {
    bit<2> color;
}

parser VariantsParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.small);
        transition accept;
    }
}

control VariantsVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control VariantsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<pair_t>(2) pairs;
    register<int<16>>(4) levels;
    register<kind_t>(2) kinds;
    meter(4, MeterType.bytes) level_meter;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_counter(CounterType.packets_and_bytes) always_hits;
    direct_meter<bit<2>>(MeterType.packets) rates;

    @max_group_size(3)
    action_selector(HashAlgorithm.crc16, 32w16, 32w10) limited;

    @selector_size_semantics("sum_of_members") @max_member_weight(5) @max_group_size(2)
    action_selector(HashAlgorithm.crc16, 32w16, 32w10) counted;

    @weights_disallowed
    action_selector(HashAlgorithm.crc16, 32w16, 32w10) plain;

    action send(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action send_here(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table always {
        actions = {
            send;
            drop;
        }
        default_action = drop();
        counters = always_hits;
    }

    table begun {
        key = {
            hdr.small.kind: ternary;
        }
        actions = {
            send;
            @tableonly send_here;
            drop;
        }
        entries = {
            const priority = 10: 1: drop();
            priority = 20: 2: send(2);
        }
        default_action = drop();
        counters = hits;
        meters = rates;
        size = 8;
    }

    table signed {
        key = {
            hdr.small.level: exact;
        }
        actions = {
            send;
            drop;
        }
        default_action = drop();
    }

    table faulty {
        key = {
            standard_metadata.parser_error: exact;
        }
        actions = {
            send;
            drop;
        }
        default_action = drop();
    }

    table by_limited {
        key = {
            hdr.small.value: exact;
            hdr.small.kind: selector;
        }
        actions = {
            send;
            drop;
        }
        implementation = limited;
    }

    table by_counted {
        key = {
            hdr.small.value: exact;
            hdr.small.kind: selector;
        }
        actions = {
            send;
            drop;
        }
        implementation = counted;
    }

    table by_plain {
        key = {
            hdr.small.value: exact;
            hdr.small.kind: selector;
        }
        actions = {
            send;
            drop;
        }
        implementation = plain;
    }

    apply {
        level_meter.execute_meter(32w1, meta.color);
        pairs.write(0, { hdr.small.kind, hdr.small.level });
        levels.write(0, hdr.small.level);
        kinds.write(0, kind_t.first);
        always.apply();
        begun.apply();
        rates.read(meta.color);
        hdr.small.value = hdr.small.value + (bit<8>) meta.color;
        signed.apply();
        faulty.apply();
        by_limited.apply();
        by_counted.apply();
        by_plain.apply();
    }
}

control VariantsEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control VariantsCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control VariantsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.small);
    }
}

V1Switch(VariantsParser(), VariantsVerify(), VariantsIngress(), VariantsEgress(), VariantsCompute(), VariantsDeparser()) main;
