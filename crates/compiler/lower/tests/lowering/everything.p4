@p4runtime_translation("example/port", bit<32>)
type bit<9> port_t;

type bit<16> vlan_t;

enum bit<8> priority_t { low = 1, high = 0x80 }

@controller_header("packet_in")
header packet_in_t {
    port_t ingress_port;
    @id(7) vlan_t vlan;
    @hidden bit<7> padding;
}

struct learned_t {
    bit<8> source;
    priority_t priority;
}

action drop() { }

control Policer(inout headers_t hdr, inout meta_t m)(bit<32> size) {
    meter(size, MeterType.bytes) rate;
    action mark(priority_t priority) { m.x = (bit<8>)priority; }
    table classes {
        key = { m.y: range; }
        actions = { mark; }
        size = (bit<32>)(size * 2);
    }
    apply {
        classes.apply();
        rate.execute_meter(m.i, m.y);
    }
}
