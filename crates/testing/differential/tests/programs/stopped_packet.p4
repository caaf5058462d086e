#include <core.p4>
#include <psa.p4>
header kind0_t {
    bit<16> f0;
    bit<8> f1;
    bit<8> f2;
    bit<32> f3;
}
header kind1_t {
    bit<127> f0;
    bit<1> f1;
}
struct headers_t {
    kind0_t h0;
    kind1_t h1;
    kind0_t h2;
    kind1_t h3;
}
struct metadata_t {
    @field_list(1) bit<8> rounds;
    @field_list(1) bit<8> m0;
    @field_list(1) bit<32> m1;
    @field_list(1) bit<12> m2;
    @field_list(1) bit<12> m3;
}
struct kept_t { bit<8> rounds; bit<8> m0; }
parser IP(packet_in packet, out headers_t hdr, inout metadata_t meta, in psa_ingress_parser_input_metadata_t sm, in kept_t resubmitted, in kept_t recirculated) {
    state start {
        meta.rounds = resubmitted.rounds | recirculated.rounds;
        meta.m0 = resubmitted.m0;
        packet.extract(hdr.h0);
        meta.m3 = 12w1756;
        verify(false || meta.m0 < 200, error.ParserInvalidArgument);
        transition select(hdr.h0.f2) {
            default: s1;
        }
    }
    state s1 {
        packet.extract(hdr.h1);
        meta.m0 = meta.m0;
        transition select(hdr.h1.f0) {
            127w0 .. 127w14273947272852668466: s2;
            127w18446744073709551615: accept;
            default: accept;
        }
    }
    state s2 {
        packet.extract(hdr.h2);
        meta.m3 = ((meta.m2 << hdr.h2.f1) - (5w2 ++ (bit<7>)hdr.h1.f1));
        transition s3;
    }
    state s3 {
        packet.extract(hdr.h3);
        transition select(hdr.h3.f1) {
            1w0 .. 1w1: accept;
            1w0 &&& 1w1: accept;
            default: reject;
        }
    }
}
control I(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t sm, inout psa_ingress_output_metadata_t om) {
    Counter<bit<64>, bit<32>>(8, PSA_CounterType_t.PACKETS_AND_BYTES) c0;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) h0;
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) h1;
    action a0() {
    }
    action a1(bit<16> p0, bit<129> p1) {
        hdr.h1.f1 = ((((bit<29>)p1)[20:5] <= ((bit<16>)hdr.h1.f1 ^ hdr.h0.f0)) ? hdr.h3.f1 : 1w1);
        meta.m3 = ((((bit<7>)p1 |-| (bit<7>)hdr.h1.f0) ++ ((bit<5>)hdr.h2.f0 | (bit<5>)hdr.h2.f0)) >> (hdr.h2.f2 - (bit<8>)p0));
        hdr.h2.f3 = ((bit<32>)hdr.h0.f2 & (((hdr.h0.f2 >= hdr.h0.f2) ? meta.m1 : 32w3047293393) ^ (meta.m1 |+| ((bit<32>)(PortIdUint_t) sm.ingress_port))));
    }
    action a2(bit<9> p0, bit<63> p1) {
        hdr.h3.f0 = (hdr.h3.f0 / 127w2);
    }
    table t0 {
        key = {
            (bit<12>)hdr.h3.f1: optional @name("k0");
            ((bit<6>)hdr.h2.f0 ++ 2w2): exact @name("k1");
        }
        actions = { a0; a1; a2; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    apply {
        send_to_port(om, (PortId_t)(PortIdUint_t)(5));
        hdr.h1.f1[0:0] = hdr.h3.f1;
        if (meta.rounds < 2 && (!hdr.h3.isValid())) { meta.rounds = meta.rounds + 1; om.clone = true; om.clone_session_id = (CloneSessionId_t) 5; }
        meta.m0 = hdr.h2.f2;
        bit<128> v0 = ((128w18446744073709551615 << hdr.h0.f2) ^ ((bit<128>)hdr.h0.f2 |+| 128w18446744073709551615));
        t0.apply();
        meta.m1 = (20w1048575 ++ ((meta.m2 - (bit<12>)((bit<32>)(PortIdUint_t) sm.ingress_port)) | (meta.m2 + (bit<12>)hdr.h3.f1)));
        hdr.h3.f1 = (bit<1>)((((bit<3>)hdr.h3.f0 ^ (bit<3>)hdr.h0.f0) - ((bit<5>)hdr.h0.f0)[4:2]));
        hdr.h1.setInvalid();
        hdr.h1.setValid();
    }
}
control ID(packet_out packet, out kept_t cloned, out kept_t again, out kept_t normal, inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        cloned.rounds = meta.rounds;
        cloned.m0 = meta.m0 + 1;
        again.rounds = meta.rounds;
        again.m0 = meta.m0 + 1;
        normal.rounds = meta.rounds;
        normal.m0 = meta.m0 + 1;
        packet.emit(hdr.h0);
        packet.emit(hdr.h1);
        packet.emit(hdr.h2);
        packet.emit(hdr.h3);
    }
}
parser EP(packet_in packet, out headers_t hdr, inout metadata_t meta, in psa_egress_parser_input_metadata_t sm, in kept_t normal, in kept_t cloned, in kept_t cloned_again) {
    state start {
        meta.rounds = normal.rounds | cloned.rounds | cloned_again.rounds;
        meta.m0 = normal.m0;
        packet.extract(hdr.h0);
        transition s1;
    }
    state s1 {
        packet.extract(hdr.h1);
        transition select(hdr.h1.f1) {
            1w1 &&& 1w1: s2;
            1w0 &&& 1w0: accept;
            default: reject;
        }
    }
    state s2 {
        packet.extract(hdr.h2);
        transition select(hdr.h2.f1) {
            8w255: s3;
            default: accept;
        }
    }
    state s3 {
        packet.extract(hdr.h3);
        meta.m3 = 12w4095;
        verify(hdr.h2.isValid() || meta.m0 < 200, error.ParserInvalidArgument);
        transition select(hdr.h3.f1) {
            1w0 &&& 1w1: accept;
            1w1: accept;
            default: accept;
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t sm, inout psa_egress_output_metadata_t om) {
    Register<bit<33>, bit<32>>(8) r0;
    Register<bit<16>, bit<32>>(8) r1;
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) h0;
    action a0(bit<2> p0, bit<12> p1) {
        hdr.h0.f0 = ((bit<16>)hdr.h3.f1 << (meta.m0 * 8w164));
    }
    action a1(bit<8> p0) {
        hdr.h2.f0 = hdr.h0.f0;
        bit<24> v1 = (bit<24>)hdr.h2.f2;
        hdr.h2.f0 = ((bit<16>)(EgressInstanceUint_t) sm.instance);
    }
    action a2(bit<13> p0) {
        hdr.h2.f0 = 16w65535;
        hdr.h0.f0 = (-hdr.h0.f0);
        hdr.h0.f0 = (hdr.h0.f0 ^ (((bit<30>)((bit<8>)(ClassOfServiceUint_t) sm.class_of_service))[27:12] | hdr.h2.f0));
        meta.m2 = (~meta.m2);
    }
    table t0 {
        key = {
            (54w18014398509481983)[53:6]: lpm @name("l");
        }
        actions = { a0; a1; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    apply {
        hdr.h0.f3 = 32w3863405147;
        t0.apply();
        hdr.h2.f0 = ((bit<16>)(((bit<14>)hdr.h0.f3)[6:3]) % 16w1);
        hdr.h2.f1[5:1] = ((bit<5>)((int<5>)(5w0)) |-| ((bit<5>)hdr.h0.f0 | (bit<5>)hdr.h2.f2));
        hdr.h0.f1[7:4] = ((bit<4>)((bit<7>)hdr.h1.f0) |-| 4w3);
        hdr.h2.f3 = (bit<32>)meta.m3;
        hdr.h2.f3 = (hdr.h2.f3 ^ ((((bit<24>)hdr.h0.f2 > (bit<24>)hdr.h0.f2) || ((bit<63>)hdr.h2.f2 >= 63w1)) ? ((bit<9>)hdr.h3.f1 ++ (bit<23>)hdr.h2.f2) : (hdr.h0.isValid() ? hdr.h0.f3 : 32w1)));
        hdr.h2.setValid();
        meta.m0 = hdr.h0.f2;
        meta.m1 = (32w4294967295 & (hdr.h0.f3 >> (bit<8>)(((int<8>)(8w93) >> 8w53))));
        hdr.h1.f0 = (bit<127>)meta.m3;
        hdr.h1.f0 = (hdr.h1.f0 ^ (-((bit<127>)hdr.h2.f1 |+| hdr.h1.f0)));
    }
}
control ED(packet_out packet, out kept_t cloned, out kept_t again, inout headers_t hdr, in metadata_t meta, in psa_egress_output_metadata_t ostd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        cloned.rounds = meta.rounds;
        cloned.m0 = meta.m0 + 1;
        again.rounds = meta.rounds;
        again.m0 = meta.m0 + 1;
        packet.emit(hdr.h0);
        packet.emit(hdr.h1);
        packet.emit(hdr.h2);
        packet.emit(hdr.h3);
    }
}
IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
