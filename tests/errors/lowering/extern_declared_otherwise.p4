#include <core.p4>
match_kind { range, selector }
extern register<T> { register(bit<32> size); T read(in bit<32> index); void write(in bit<32> index, in T value); }
extern counter { counter(bit<32> size, bool in_bytes); void count(in bit<32> index); }
extern void random(out bit<8> result, in bit<8> low, in bit<8> high);
extern void truncate(in bit<32> length, in bit<32> offset);
struct standard_metadata_t { bit<9> ingress_port; bit<9> egress_spec; }
parser Parser<H, M>(packet_in b, out H h, inout M m, inout standard_metadata_t s);
control VerifyChecksum<H, M>(inout H h, inout M m);
control Ingress<H, M>(inout H h, inout M m, inout standard_metadata_t s);
control Egress<H, M>(inout H h, inout M m, inout standard_metadata_t s);
control ComputeChecksum<H, M>(inout H h, inout M m);
control Deparser<H>(packet_out b, in H h);
package V1Switch<H, M>(Parser<H, M> p, VerifyChecksum<H, M> v, Ingress<H, M> i, Egress<H, M> e, ComputeChecksum<H, M> c, Deparser<H> d);
struct headers_t { }
struct metadata_t { bit<8> x; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    register<bit<8>>(16) cells;
    counter(16, true) packets;
    apply {
        m.x = cells.read(3);
        cells.write(3, m.x);
        packets.count(3);
        random(m.x, 0, 9);
        truncate(100, 14);
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
