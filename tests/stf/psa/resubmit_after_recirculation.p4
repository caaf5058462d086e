// A packet that is resubmitted keeps its ingress port: that of recirculation, if it was recirculated before (PSA 6.1).
#include <core.p4>
#include <psa.p4>

header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
header o_t { bit<32> port; bit<8> path; bit<8> n; }
struct headers_t { h_t h; o_t o; }
struct meta_t { bit<8> x; bit<32> y;  }
struct nm_t {  bit<8> n; }
struct ci_t {  bit<8> n; }
struct ce_t {  bit<8> n; }
struct rs_t {  bit<8> n; }
struct rc_t {  bit<8> n; }

bit<8> path8(in PSA_PacketPath_t p) {
    if (p == PSA_PacketPath_t.NORMAL) return 1;
    if (p == PSA_PacketPath_t.NORMAL_UNICAST) return 2;
    if (p == PSA_PacketPath_t.NORMAL_MULTICAST) return 3;
    if (p == PSA_PacketPath_t.CLONE_I2E) return 4;
    if (p == PSA_PacketPath_t.CLONE_E2E) return 5;
    if (p == PSA_PacketPath_t.RESUBMIT) return 6;
    if (p == PSA_PacketPath_t.RECIRCULATE) return 7;
    return 99;
}

parser IP(packet_in buffer, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in rs_t resubmit_meta, in rc_t recirculate_meta) {
    state start { buffer.extract(hdr.h); meta.x = 0; transition select(istd.packet_path) { PSA_PacketPath_t.RESUBMIT: r; PSA_PacketPath_t.RECIRCULATE: c; default: accept; } }
   state r { meta.x = resubmit_meta.n; transition accept; } state c { meta.x = recirculate_meta.n; transition accept; }
}
control IG(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (istd.packet_path == PSA_PacketPath_t.NORMAL) { send_to_port(ostd, PSA_PORT_RECIRCULATE); }
   else if (istd.packet_path == PSA_PacketPath_t.RECIRCULATE) { hdr.h.b = 0x55; ostd.drop = false; ostd.resubmit = true; }
   else { hdr.o.setValid(); hdr.o.port = (PortIdUint_t) istd.ingress_port; hdr.o.path = path8(istd.packet_path); hdr.o.n = meta.x; send_to_port(ostd, (PortId_t) 2); }
    }
}
control ID(packet_out buffer, out ci_t clone_i2e_meta, out rs_t resubmit_meta, out nm_t normal_meta, inout headers_t hdr, in meta_t meta,
           in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_resubmit(istd)) { resubmit_meta.n = meta.x + 1; } buffer.emit(hdr);
    }
}
parser EP(packet_in buffer, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd, in nm_t normal_meta,
          in ci_t clone_i2e_meta, in ce_t clone_e2e_meta) {
    state start { buffer.extract(hdr.h); transition accept; }
}
control EG(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd) {
    apply {
        if (istd.egress_port == PSA_PORT_RECIRCULATE) { hdr.h.b = 0x99; }
    }
}
control ED(packet_out buffer, out ce_t clone_e2e_meta, out rc_t recirculate_meta, inout headers_t hdr, in meta_t meta,
           in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_recirculate(istd, edstd)) { recirculate_meta.n = 0x30; } buffer.emit(hdr);
    }
}
IngressPipeline(IP(), IG(), ID()) ip;
EgressPipeline(EP(), EG(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
