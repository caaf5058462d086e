// The PNA of its specification of 2024 on, which has no pre control.
#include <core.p4>
parser MainParserT<H, M>(packet_in packet, out H hdr, inout M meta);
control MainControlT<H, M>(inout H hdr, inout M meta);
control MainDeparserT<H, M>(packet_out packet, inout H hdr, in M meta);
package PNA_NIC<H, M>(MainParserT<H, M> main_parser, MainControlT<H, M> main_control, MainDeparserT<H, M> main_deparser);
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta) { state start { packet.extract(hdr.h); transition accept; } }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
control D(packet_out packet, inout headers_t hdr, in meta_t meta) { apply { packet.emit(hdr.h); } }
PNA_NIC(P(), C(), D()) main;
