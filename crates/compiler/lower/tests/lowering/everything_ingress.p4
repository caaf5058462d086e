Policer(64) policer;
@brief("Packets by class") counter(16, CounterType.packets) seen;
const string ELSEWHERE = "to \"others\"";
@element_names("here", ELSEWHERE) counter(2, CounterType.packets) ways;
@max_group_size(8) action_selector(HashAlgorithm.crc16, 128, 10) paths;
direct_counter(CounterType.packets_and_bytes) hits;
register<bit<48>>(1) last;
action forward(port_t port, @id(9) vlan_t vlan) { sm.egress_spec = (bit<9>)port; m.kept = (bit<16>)vlan; }
action unused() { }
action learn() { digest<learned_t>(1, { m.x, priority_t.low }); }
@id(5) @name("routes") table routing {
    key = {
        m.i: lpm;
        hdr.h.isValid(): exact;
        hdr.s[1].a & 0xf: ternary;
        m.y: selector;
        m.x: optional @id(2) @name("class");
    }
    actions = { forward; @tableonly learn; @defaultonly drop; }
    default_action = drop();
    implementation = paths;
    counters = hits;
    support_timeout = true;
}
table fixed {
    key = { m.x: exact; }
    actions = { forward; }
    const default_action = forward((port_t)9w3, (vlan_t)16w10);
    const entries = { 1: forward((port_t)9w1, (vlan_t)16w1); }
}
table never {
    key = { m.x: exact; }
    actions = { unused; }
}
apply {
    policer.apply(hdr, m);
    if (routing.apply().hit) {
        fixed.apply();
    }
    seen.count((bit<32>)m.x);
    if (false) {
        never.apply();
    }
}
