// A package of this name that lacks a deparser.
#include <core.p4>
parser MainParserT<H, M>(packet_in packet, out H hdr, inout M meta);
control MainControlT<H, M>(inout H hdr, inout M meta);
package PNA_NIC<H, M>(MainParserT<H, M> main_parser, MainControlT<H, M> main_control);
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta) { state start { packet.extract(hdr.h); transition accept; } }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
PNA_NIC(P(), C()) main;
