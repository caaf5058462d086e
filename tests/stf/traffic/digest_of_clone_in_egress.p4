// Egress sends a digest for the packet and for its clone from ingress: that of the clone comes first, with every engine.
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

struct left_t {
    bit<8> value;
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
    apply {
        standard_metadata.egress_spec = 2;
        if (hdr.note.kind == 1) {
            clone(CloneType.I2E, 5);
        }
    }
}

control NoteEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        digest<left_t>(1, { hdr.note.value, standard_metadata.egress_port });
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
