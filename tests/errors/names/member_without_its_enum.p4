#include <core.p4>
#include <v1model.p4>
struct meta_t { bit<16> h; }
control C(inout meta_t m, inout standard_metadata_t s) {
    counter(64, packets) seen;
    apply {
        hash(m.h, crc16, 16w0, { s.ingress_port }, 16w64);
        clone(I2E, 5);
        if (s.parser_error == PacketTooShort) { mark_to_drop(s); }
    }
}
