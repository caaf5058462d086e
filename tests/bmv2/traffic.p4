// What a program asks of the switch: clones with a field list, resubmission, recirculation, truncation, a log message, and
// registers, counters, meters, hashes and random numbers.
header request_t {
    bit<8> operation;
    bit<8> value;
    bit<16> result;
}

struct headers_t {
    request_t request;
}

struct metadata_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
}

#include "frame.p4"

parser TrafficParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control TrafficIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<12>>(16) cells;
    counter(16, CounterType.packets_and_bytes) hits;
    meter(4, MeterType.packets) rates;
    action copy() {
        meta.kept = hdr.request.value;
        meta.lost = hdr.request.value;
        clone_preserving_field_list(CloneType.I2E, 7, 1);
    }
    action again() {
        meta.kept = 9;
        hdr.request.result = (bit<16>)meta.kept;
        if (standard_metadata.instance_type == 0) {
            meta.kept = 33;
            resubmit_preserving_field_list(1);
        }
    }
    action remember() {
        bit<12> old;
        cells.read(old, (bit<32>)hdr.request.value);
        hdr.request.result = (bit<16>)old;
        cells.write((bit<32>)hdr.request.value, old + 0xfff);
        hits.count((bit<32>)hdr.request.value);
    }
    action colour() {
        rates.execute_meter((bit<32>)hdr.request.value, meta.lost);
        hdr.request.result = (bit<16>)meta.lost;
    }
    action digest_of() {
        hash(hdr.request.result, HashAlgorithm.crc16, (bit<16>)5, { hdr.request.operation, 4w3, hdr.request.value, 4w1 }, (bit<32>)1000);
    }
    action any() {
        bit<16> drawn;
        random(drawn, (bit<16>)7, (bit<16>)7);
        hdr.request.result = drawn;
        log_msg("drawn {} for {}", { drawn, hdr.request.value });
    }
    action cut() {
        truncate((bit<32>)3);
    }
    action stop() {
        hdr.request.result = 1;
        if (hdr.request.value == 1) {
            exit;
        }
        hdr.request.result = 2;
    }
    table operate {
        key = { hdr.request.operation: exact; }
        actions = { copy; again; remember; colour; digest_of; any; cut; stop; @defaultonly NoAction; }
        const entries = {
            1: copy();
            2: again();
            3: remember();
            4: colour();
            5: digest_of();
            6: any();
            7: cut();
            8: stop();
        }
        default_action = NoAction();
    }
    apply {
        standard_metadata.egress_spec = 2;
        operate.apply();
        if (hdr.request.operation == 8) {
            hdr.request.value = 0xff;
        }
    }
}

control TrafficEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 1) {
            hdr.request.result = meta.kept ++ meta.lost;
        }
        if (hdr.request.operation == 9) {
            hdr.request.operation = 10;
            recirculate_preserving_field_list(1);
        }
        assert(hdr.request.operation != 0xff);
    }
}

V1Switch(TrafficParser(), NoChecksum(), TrafficIngress(), TrafficEgress(), NoChecksum(), EmitAll()) main;
