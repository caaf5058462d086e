// A program with a little of everything, the seed of the mutation tests.
#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
type bit<9> port_t;
enum bit<16> EtherType { IPV4 = 0x0800, VLAN = 0x8100 }
enum Color { RED, GREEN }
error { BadVersion }
const bit<8> TTL = 2 * 32;
const tuple<bit<8>, bool> PAIR = { 3, true };

header ethernet_t { mac_t dst; mac_t src; EtherType kind; }
header ipv4_t { bit<4> version; bit<4> ihl; bit<8> ttl; bit<32> src; bit<32> dst; }
header options_t { varbit<320> data; }
header label_t { bit<20> label; bit<3> tc; bit<1> bottom; bit<8> ttl; }
header_union ip_t { ipv4_t v4; label_t other; }
struct headers_t { ethernet_t eth; ipv4_t ip; options_t options; label_t[4] labels; ip_t either; }
struct pair_t<T> { T first; T second; }
struct meta_t { port_t port; bit<16> length; pair_t<bit<8>> two; Color color; }

T larger<T>(in T a, in T b, in bool first) { return first ? a : b; }
bit<8> twice(in bit<8> x = 4) { if (x > 100) { return 255; } else { return x |+| x; } }

extern Counter<I> { Counter(bit<32> size); void count(in I index); abstract bit<8> get(in bit<8> x); }

parser P(packet_in b, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) special;
    bit<8> rounds = 0;
    state start {
        b.extract(hdr.eth);
        transition select(hdr.eth.kind, b.lookahead<bit<4>>()) {
            (EtherType.IPV4, 4): ipv4;
            (EtherType.VLAN, 4w1 &&& 4w3): labels;
            (_, 5 .. 7): labels;
            default: accept;
        }
    }
    state labels {
        b.extract(hdr.labels.next);
        rounds = rounds + 1;
        transition select(hdr.labels.last.bottom) { 0: labels; 1: ipv4; }
    }
    state ipv4 {
        b.extract(hdr.ip);
        verify(hdr.ip.version == 4, error.BadVersion);
        b.extract(hdr.options, (bit<32>)(((bit<16>) hdr.ip.ihl - 5) << 5));
        transition select(hdr.ip.ttl) { special: reject; _: accept; }
    }
}

control Inner(inout ipv4_t ip)(bit<8> step) {
    action lower(bit<8> by) { ip.ttl = ip.ttl - by; }
    apply { lower(step); if (ip.ttl == 0) { exit; } }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner(1) inner;
    Counter<bit<9>>(512) packets = { bit<8> get(in bit<8> x) { return x + 1; } };
    bit<8> local = PAIR[0];
    action drop() { mark_to_drop(std); }
    action forward(in bit<8> ttl, port_t port, mac_t mac) {
        std.egress_spec = (bit<9>) port;
        hdr.eth = { mac, hdr.eth.dst, EtherType.IPV4 };
        hdr.ip.ttl = ttl;
    }
    table routes {
        key = { hdr.ip.dst: lpm @name("dst"); hdr.ip.isValid(): exact; meta.port: ternary; }
        actions = { drop; forward(local); @defaultonly NoAction; }
        default_action = NoAction();
        const entries = {
            (0x0a000000 &&& 0xff000000, true, _): forward(local, 3, 5);
            (_, false, 1): drop();
        }
        size = 1024;
    }
    apply {
        meta.two = { second = 2, first = TTL };
        meta.two = { 1, ... };
        local = larger(meta.two.first, twice(), hdr.ip.isValid());
        packets.count(std.ingress_port);
        switch (routes.apply().action_run) {
            drop: { return; }
            forward: NoAction: { inner.apply(hdr.ip); }
            default: {}
        }
        switch (hdr.eth.kind) { EtherType.IPV4: { local = 1; } default: { local[3:0] = 2; } }
        for (bit<8> i in 1 .. 3) { if (i == 2) { continue; } local += i; }
        for (bit<8> i = 0; i < 4; i = i + 1) { hdr.labels[i].ttl = i; }
        if (hdr.labels[0] == hdr.labels[1] || !hdr.either.v4.isValid()) { hdr.labels.push_front(1); }
        hdr.ip = hdr.ip.version == 4 ? hdr.ip : {#};
        meta.length = hdr.ip.src[15:0] ++ hdr.ip.dst[15:0] == 0 ? (bit<16>) 1 : 16w2;
        digest<pair_t<bit<8>>>(1, meta.two);
        hash(meta.length, HashAlgorithm.crc16, 16w0, { hdr.ip.src, hdr.ip.dst }, 16w1024);
    }
}
control V(inout headers_t hdr, inout meta_t meta) { apply {} }
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
control D(packet_out b, in headers_t hdr) { apply { b.emit(hdr.eth); b.emit({ hdr.labels, hdr.ip }); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
