// What the kernel keeps beside a packet is declared, and not executed.
#include <tc/pna.p4>
header h_t { bit<16> a; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start { packet.extract(hdr.h); transition accept; }
}
control C(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd, inout pna_main_output_metadata_t ostd,
          tc_skb_metadata skb_meta) {
    apply {
        hdr.h.a = skb_meta.get_protocol();
        send_to_port(istd.input_port);
    }
}
control D(packet_out packet, inout headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd,
          tc_skb_metadata skb_meta) {
    apply { packet.emit(hdr.h); }
}
PNA_NIC(P(), C(), D()) main;
