#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { }
parser P(packet_in packet, out H hdr, inout M meta, inout standard_metadata_t sm) {
    state start { transition accept; }
}
control C(inout H hdr, inout standard_metadata_t sm) {
    apply {
        packet.extract(hdr.h);
        standard_metadata.egress_spec = 3;
    }
}
