// A large action that two tables with action profiles share: it gets all of its data in each.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<32> w;
    bit<32> x;
    bit<32> y;
    bit<32> z;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action mix(
        bit<32> d0, bit<32> d1, bit<32> d2, bit<32> d3, bit<32> d4, bit<32> d5, bit<32> d6, bit<32> d7,
        bit<32> d8, bit<32> d9, bit<32> d10, bit<32> d11, bit<32> d12, bit<32> d13, bit<32> d14, bit<32> d15,
        bit<32> d16, bit<32> d17, bit<32> d18, bit<32> d19, bit<32> d20, bit<32> d21, bit<32> d22,
        bit<32> d23
    ) {
        hdr.input.w = (hdr.input.w << 1) + d0;
        hdr.input.x = (hdr.input.x << 1) + d1;
        hdr.input.y = (hdr.input.y << 1) + d2;
        hdr.input.z = (hdr.input.z << 1) + d3;
        hdr.input.w = (hdr.input.w << 1) + d4;
        hdr.input.x = (hdr.input.x << 1) + d5;
        hdr.input.y = (hdr.input.y << 1) + d6;
        hdr.input.z = (hdr.input.z << 1) + d7;
        hdr.input.w = (hdr.input.w << 1) + d8;
        hdr.input.x = (hdr.input.x << 1) + d9;
        hdr.input.y = (hdr.input.y << 1) + d10;
        hdr.input.z = (hdr.input.z << 1) + d11;
        hdr.input.w = (hdr.input.w << 1) + d12;
        hdr.input.x = (hdr.input.x << 1) + d13;
        hdr.input.y = (hdr.input.y << 1) + d14;
        hdr.input.z = (hdr.input.z << 1) + d15;
        hdr.input.w = (hdr.input.w << 1) + d16;
        hdr.input.x = (hdr.input.x << 1) + d17;
        hdr.input.y = (hdr.input.y << 1) + d18;
        hdr.input.z = (hdr.input.z << 1) + d19;
        hdr.input.w = (hdr.input.w << 1) + d20;
        hdr.input.x = (hdr.input.x << 1) + d21;
        hdr.input.y = (hdr.input.y << 1) + d22;
        hdr.input.z = (hdr.input.z << 1) + d23;
        hdr.input.w = (hdr.input.w << 1) ^ d0;
        hdr.input.x = (hdr.input.x << 1) ^ d1;
        hdr.input.y = (hdr.input.y << 1) ^ d2;
        hdr.input.z = (hdr.input.z << 1) ^ d3;
        hdr.input.w = (hdr.input.w << 1) ^ d4;
        hdr.input.x = (hdr.input.x << 1) ^ d5;
        hdr.input.y = (hdr.input.y << 1) ^ d6;
        hdr.input.z = (hdr.input.z << 1) ^ d7;
        hdr.input.w = (hdr.input.w << 1) ^ d8;
        hdr.input.x = (hdr.input.x << 1) ^ d9;
        hdr.input.y = (hdr.input.y << 1) ^ d10;
        hdr.input.z = (hdr.input.z << 1) ^ d11;
        hdr.input.w = (hdr.input.w << 1) ^ d12;
        hdr.input.x = (hdr.input.x << 1) ^ d13;
        hdr.input.y = (hdr.input.y << 1) ^ d14;
        hdr.input.z = (hdr.input.z << 1) ^ d15;
        hdr.input.w = (hdr.input.w << 1) ^ d16;
        hdr.input.x = (hdr.input.x << 1) ^ d17;
        hdr.input.y = (hdr.input.y << 1) ^ d18;
        hdr.input.z = (hdr.input.z << 1) ^ d19;
        hdr.input.w = (hdr.input.w << 1) ^ d20;
        hdr.input.x = (hdr.input.x << 1) ^ d21;
        hdr.input.y = (hdr.input.y << 1) ^ d22;
        hdr.input.z = (hdr.input.z << 1) ^ d23;
        hdr.input.w = (hdr.input.w << 1) - d0;
        hdr.input.x = (hdr.input.x << 1) - d1;
        hdr.input.y = (hdr.input.y << 1) - d2;
        hdr.input.z = (hdr.input.z << 1) - d3;
        hdr.input.w = (hdr.input.w << 1) - d4;
        hdr.input.x = (hdr.input.x << 1) - d5;
        hdr.input.y = (hdr.input.y << 1) - d6;
        hdr.input.z = (hdr.input.z << 1) - d7;
        hdr.input.w = (hdr.input.w << 1) - d8;
        hdr.input.x = (hdr.input.x << 1) - d9;
        hdr.input.y = (hdr.input.y << 1) - d10;
        hdr.input.z = (hdr.input.z << 1) - d11;
        hdr.input.w = (hdr.input.w << 1) - d12;
        hdr.input.x = (hdr.input.x << 1) - d13;
        hdr.input.y = (hdr.input.y << 1) - d14;
        hdr.input.z = (hdr.input.z << 1) - d15;
        hdr.input.w = (hdr.input.w << 1) - d16;
        hdr.input.x = (hdr.input.x << 1) - d17;
        hdr.input.y = (hdr.input.y << 1) - d18;
        hdr.input.z = (hdr.input.z << 1) - d19;
        hdr.input.w = (hdr.input.w << 1) - d20;
        hdr.input.x = (hdr.input.x << 1) - d21;
        hdr.input.y = (hdr.input.y << 1) - d22;
        hdr.input.z = (hdr.input.z << 1) - d23;
    }

    table first {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            mix;
            NoAction;
        }
        default_action = NoAction();
        implementation = action_profile(16);
    }

    table second {
        key = {
            hdr.input.b: ternary;
        }
        actions = {
            mix;
            NoAction;
        }
        default_action = NoAction();
        implementation = action_profile(16);
    }

    apply {
        first.apply();
        second.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
