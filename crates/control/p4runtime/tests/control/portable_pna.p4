// A PNA program with a table that learns, and objects that a controller reads or writes.
#include <core.p4>
#include <pna.p4>

header frame_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    frame_t frame;
}

struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.frame);
        transition accept;
    }
}

control Pre(in headers_t hdr, inout metadata_t meta, in pna_pre_input_metadata_t istd,
            inout pna_pre_output_metadata_t ostd) {
    apply {}
}

control Main(inout headers_t hdr, inout metadata_t meta, in pna_main_input_metadata_t istd,
             inout pna_main_output_metadata_t ostd) {
    DirectCounter<bit<64>>(PNA_CounterType_t.PACKETS) hits;
    Register<bit<16>, bit<8>>(8) last;

    action forward(PortId_t port) {
        hits.count();
        send_to_port(port);
    }

    table ports {
        key = { hdr.frame.kind : exact; }
        actions = { forward; NoAction; }
        pna_direct_counter = hits;
        default_action = NoAction();
        size = 16;
    }

    action known(bit<8> value) {
        hdr.frame.value = value;
    }

    action unknown() {
        add_entry("known", hdr.frame.value, 1);
    }

    table flows {
        key = { hdr.frame.kind : exact; }
        actions = { @tableonly known; @defaultonly unknown; }
        add_on_miss = true;
        const default_action = unknown();
        size = 16;
    }

    apply {
        last.write(0, (bit<16>) hdr.frame.kind);
        ports.apply();
        flows.apply();
    }
}

control D(packet_out packet, in headers_t hdr, in metadata_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr);
    }
}

PNA_NIC(P(), Pre(), Main(), D()) main;
