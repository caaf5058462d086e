// A program whose tables and actions say what controllers may write.

#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<8> vrf_t;

header packet_t {
    bit<16> kind;
    bit<32> address;
    bit<16> port;
}

struct headers_t {
    packet_t packet;
}

struct metadata_t {
    vrf_t vrf;
}

parser ConstraintParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.packet);
        transition accept;
    }
}

control ConstraintVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ConstraintIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action_selector(HashAlgorithm.crc16, 32w64, 32w10) selector;

    @action_restriction("port != 0; // 0 is nobody's
                         port < 100")
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    @action_restriction("vrf != ''")
    action set_vrf(vrf_t vrf) {
        meta.vrf = vrf;
    }

    @entry_restriction("
        // Addresses only where there are addresses.
        address::mask != 0 -> kind == 0x0800;
        hdr.packet.port::low >= 10 && ::priority < 1000;
    ")
    table filter {
        key = {
            hdr.packet.kind: exact @name("kind");
            hdr.packet.address: ternary @name("address");
            hdr.packet.port: range;
        }
        actions = {
            forward;
            set_vrf;
            @defaultonly NoAction;
        }
    }

    @entry_restriction("vrf == 'red' -> address::prefix_length >= 8")
    table routes {
        key = {
            meta.vrf: exact @name("vrf");
            hdr.packet.address: lpm @name("address");
            hdr.packet.kind: selector;
        }
        actions = {
            forward;
            @defaultonly NoAction;
        }
        implementation = selector;
    }

    apply {
        if (!filter.apply().hit) {
            routes.apply();
        }
    }
}

control ConstraintEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control ConstraintCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ConstraintDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet);
    }
}

V1Switch(ConstraintParser(), ConstraintVerify(), ConstraintIngress(), ConstraintEgress(), ConstraintCompute(),
         ConstraintDeparser()) main;
