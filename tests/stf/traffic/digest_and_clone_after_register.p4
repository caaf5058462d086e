// A digest and a clone of one packet, in a program whose packets take general code since it reads a register and clones
// from egress too: neither may be lost for the other.
#include <core.p4>
#include <v1model.p4>

header note_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    note_t note;
}

struct metadata_t {}

struct seen_t {
    bit<8> kind;
    bit<9> port;
}

parser NoteParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.note);
        transition accept;
    }
}

control NoteVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control NoteIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(2) packets;

    apply {
        standard_metadata.egress_spec = 2;
        digest<seen_t>(1, { hdr.note.kind, standard_metadata.ingress_port });
        bit<8> before;
        packets.read(before, 0);
        packets.write(0, before + 1);
        clone(CloneType.I2E, 5);
    }
}

control NoteEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.note.kind == 1 && standard_metadata.instance_type == 0) {
            digest<seen_t>(1, { hdr.note.value, standard_metadata.egress_port });
            clone(CloneType.E2E, 6);
        }
    }
}

control NoteCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control NoteDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.note);
    }
}

V1Switch(NoteParser(), NoteVerify(), NoteIngress(), NoteEgress(), NoteCompute(), NoteDeparser()) main;
