#include <core.p4>
header bytes_t
    bit<8> first;
    bit<8> second;
}
struct headers_t {
    bytes_t bytes;
}
parser P(packet_in packet, out headers_t hdr) {
    state start
        packet.extract(hdr.bytes);
        transition accept;
    }
}
control C(inout headers_t hdr)
    action swap(bit<8> value) {
        hdr.bytes.first = value;
    }
    table t
        key = { hdr.bytes.first : exact; }
        actions = { swap; NoAction; }
    }
    apply {
        t.apply();
    }
}
parser Q(packet_in packet, out headers_t hdr)
    state start {
        transition accept;
    }
}
