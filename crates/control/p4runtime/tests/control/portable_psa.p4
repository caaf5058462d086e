// A PSA program with every object that a controller reads or writes.
#include <core.p4>
#include <psa.p4>

header frame_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    frame_t frame;
}

struct metadata_t {}

struct none_t {}

struct seen_t {
    bit<8> kind;
    PortId_t port;
}

parser IP(packet_in packet, out headers_t hdr, inout metadata_t meta, in psa_ingress_parser_input_metadata_t istd,
          in none_t resubmit_meta, in none_t recirculate_meta) {
    state start {
        packet.extract(hdr.frame);
        transition accept;
    }
}

control I(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
          inout psa_ingress_output_metadata_t ostd) {
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    Counter<bit<64>, bit<8>>(256, PSA_CounterType_t.PACKETS) kinds;
    Meter<bit<8>>(4, PSA_MeterType_t.BYTES) pace;
    Register<bit<16>, bit<8>>(8) last;
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 16, 8) selector;

    action forward(PortId_t port) {
        hits.count();
        send_to_port(ostd, port);
    }

    action mark(bit<8> value) {
        hdr.frame.value = value;
    }

    table ports {
        key = { hdr.frame.kind : exact; }
        actions = { forward; NoAction; }
        psa_direct_counter = hits;
        psa_direct_meter = rate;
        default_action = NoAction();
        size = 16;
    }

    table marks {
        key = { hdr.frame.kind : ternary; hdr.frame.value : selector; }
        actions = { mark; NoAction; }
        psa_implementation = selector;
        size = 16;
    }

    apply {
        kinds.count(hdr.frame.kind);
        last.write(0, (bit<16>) hdr.frame.kind);
        ports.apply();
        marks.apply();
    }
}

control ID(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
           inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    Digest<seen_t>() seen;

    apply {
        if (hdr.frame.kind == 7) {
            seen.pack({ hdr.frame.kind, istd.egress_port });
        }
        packet.emit(hdr);
    }
}

parser EP(packet_in packet, out headers_t hdr, inout metadata_t meta, in psa_egress_parser_input_metadata_t istd,
          in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        transition accept;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
          inout psa_egress_output_metadata_t ostd) {
    apply {}
}

control ED(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr,
           in metadata_t meta, in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {}
}

IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
