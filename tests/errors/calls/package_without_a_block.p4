// PNA_NIC has three blocks, or four.
#include <pna.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start { packet.extract(hdr.h); transition accept; }
}
control C(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd, inout pna_main_output_metadata_t ostd) {
    apply {}
}
PNA_NIC(P(), C()) main;
