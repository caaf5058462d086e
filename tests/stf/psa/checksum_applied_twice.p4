// A Checksum is cleared whenever the control that declares it is applied.
#include <core.p4>
#include <psa.p4>

header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
header o_t { bit<32> v; }
struct headers_t { h_t h; o_t o; o_t p; }
struct meta_t { bit<8> x; bit<32> y;  }
struct nm_t {  bit<8> n; }
struct ci_t {  bit<8> n; }
struct ce_t {  bit<8> n; }
struct rs_t {  bit<8> n; }
struct rc_t {  bit<8> n; }
control Sub(in bit<8> v, out bit<32> r) { Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) ck; apply { ck.update({v}); r = ck.get(); } }
parser IP(packet_in buffer, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in rs_t resubmit_meta, in rc_t recirculate_meta) {
    state start { buffer.extract(hdr.h); transition accept; }
}
control IG(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
    }
}
control ID(packet_out buffer, out ci_t clone_i2e_meta, out rs_t resubmit_meta, out nm_t normal_meta, inout headers_t hdr, in meta_t meta,
           in psa_ingress_output_metadata_t istd) {
    Sub() s;
    apply {
        bit<32> r; s.apply(hdr.h.a, r); hdr.o.setValid(); hdr.o.v = r; s.apply(hdr.h.b, r); hdr.p.setValid(); hdr.p.v = r; buffer.emit(hdr);
    }
}
parser EP(packet_in buffer, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd, in nm_t normal_meta,
          in ci_t clone_i2e_meta, in ce_t clone_e2e_meta) {
    state start { transition accept; }
}
control EG(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd) {
    apply {

    }
}
control ED(packet_out buffer, out ce_t clone_e2e_meta, out rc_t recirculate_meta, inout headers_t hdr, in meta_t meta,
           in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {

    }
}
IngressPipeline(IP(), IG(), ID()) ip;
EgressPipeline(EP(), EG(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
