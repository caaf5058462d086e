// Registers begin with the values that they are given: numbers, members of enums, structs (PSA 7.8).
#include <core.p4>
#include <psa.p4>
enum bit<8> en_t { A = 4, B = 5 } struct s_t { bit<8> p; bit<8> q; }
header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
header o_t { bit<8> r; int<8> i; bit<8> f; bit<8> e; bit<8> p; bit<8> q; }
struct headers_t { h_t h; o_t o; }
struct meta_t { bit<8> x; bit<32> y;  }
struct nm_t {  bit<8> n; }
struct ci_t {  bit<8> n; }
struct ce_t {  bit<8> n; }
struct rs_t {  bit<8> n; }
struct rc_t {  bit<8> n; }

parser IP(packet_in buffer, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in rs_t resubmit_meta, in rc_t recirculate_meta) {
    state start { buffer.extract(hdr.h); transition accept; }
}
control IG(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(4, 0xab) r; Register<int<8>, bit<8>>(4, -10) i; Register<bool, bit<8>>(4, true) f; Register<en_t, bit<8>>(4, en_t.B) e; Register<s_t, bit<8>>(4, {0x12, 0x34}) s;
    apply {
        hdr.o.setValid(); hdr.o.r = r.read(hdr.h.a); hdr.o.i = i.read(hdr.h.a); hdr.o.f = f.read(hdr.h.a) ? 8w1 : 0; hdr.o.e = e.read(hdr.h.a); s_t v = s.read(hdr.h.a); hdr.o.p = v.p; hdr.o.q = v.q; hdr.h.setInvalid(); send_to_port(ostd, (PortId_t) 2);
    }
}
control ID(packet_out buffer, out ci_t clone_i2e_meta, out rs_t resubmit_meta, out nm_t normal_meta, inout headers_t hdr, in meta_t meta,
           in psa_ingress_output_metadata_t istd) {
    apply {
        buffer.emit(hdr);
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
