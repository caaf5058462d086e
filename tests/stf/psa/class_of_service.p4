// A class of service that there is not is 0 (PSA 6.2).
#include <core.p4>
#include <psa.p4>
error { Mine }
header h_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
header o_t { bit<32> pport; bit<8> ppath; bit<32> port; bit<8> path; bit<8> err; bit<8> cos; bit<16> inst; bit<8> clone; bit<8> drop; }
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

bit<8> err8(in error e) {
    if (e == error.NoError) return 0;
    if (e == error.PacketTooShort) return 1;
    if (e == error.NoMatch) return 2;
    if (e == error.StackOutOfBounds) return 3;
    if (e == error.HeaderTooShort) return 4;
    if (e == error.ParserTimeout) return 5;
    if (e == error.ParserInvalidArgument) return 6;
    if (e == error.Mine) return 7;
    return 99;
}

parser IP(packet_in buffer, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in rs_t resubmit_meta, in rc_t recirculate_meta) {
    state start { buffer.extract(hdr.h); transition accept; }
}
control IG(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd, inout psa_ingress_output_metadata_t ostd) {
    apply {
        ostd.class_of_service = (ClassOfService_t) hdr.h.a; send_to_port(ostd, (PortId_t) 5);
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
    state start { buffer.extract(hdr.h); hdr.o.setValid(); hdr.o.pport = (PortIdUint_t) istd.egress_port; hdr.o.ppath = path8(istd.packet_path); transition accept; }
}
control EG(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd, inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.o.port = (PortIdUint_t) istd.egress_port; hdr.o.path = path8(istd.packet_path); hdr.o.err = err8(istd.parser_error);
   hdr.o.cos = (ClassOfServiceUint_t) istd.class_of_service; hdr.o.inst = (EgressInstanceUint_t) istd.instance;
   hdr.o.clone = ostd.clone ? 8w1 : 0; hdr.o.drop = ostd.drop ? 8w1 : 0;
    }
}
control ED(packet_out buffer, out ce_t clone_e2e_meta, out rc_t recirculate_meta, inout headers_t hdr, in meta_t meta,
           in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        buffer.emit(hdr);
    }
}
IngressPipeline(IP(), IG(), ID()) ip;
EgressPipeline(EP(), EG(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
