// Decides which packets may begin a connection: policies between zones, and rules.

#ifndef FIREWALL_POLICY_P4
#define FIREWALL_POLICY_P4

#include "packet.p4"

const bit<2> VERDICT_DENY = 0;
const bit<2> VERDICT_REJECT = 1;
const bit<2> VERDICT_ALLOW = 2;
const bit<2> VERDICT_RULES = 3;

// Further terms of a rule. `policer`: the meter of its connections' traffic. `limiter`: the limit of its new connections. 0 for none.
struct terms_t {
    bit<16> policer;
    bit<16> limiter;
    bit<32> interval;
    bit<32> burst;
    bit<1> is_told;
}

control Policy(in headers_t hdr, in metadata_t meta, out bit<2> verdict, out terms_t terms) {
    direct_counter(CounterType.packets) policy_hits;
    direct_counter(CounterType.packets) hits_ipv4;
    direct_counter(CounterType.packets) hits_ipv6;

    action deny(bit<1> told) {
        verdict = VERDICT_DENY;
        terms.is_told = told;
    }

    action reject(bit<1> told) {
        verdict = VERDICT_REJECT;
        terms.is_told = told;
    }

    action allow(bit<16> policer) {
        verdict = VERDICT_ALLOW;
        terms.policer = policer;
    }

    // One new connection each `interval` microseconds, with a tolerance of `burst` microseconds (GCRA, ITU-T I.371).
    action allow_limited(bit<16> policer, bit<16> limiter, bit<32> interval, bit<32> burst) {
        verdict = VERDICT_ALLOW;
        terms = { policer, limiter, interval, burst, 0 };
    }

    action use_rules() {
        verdict = VERDICT_RULES;
    }

    // Without an entry nothing passes between zones.
    table policies {
        key = {
            meta.from_zone: exact @name("from");
            meta.to_zone: exact @name("to");
        }
        actions = {
            deny;
            reject;
            allow;
            use_rules;
        }
        default_action = deny(0);
        counters = policy_hits;
        size = 65536;
    }

    table rules_ipv4 {
        key = {
            meta.from_zone: ternary @name("from");
            meta.to_zone: ternary @name("to");
            hdr.ipv4.src_addr: ternary @name("source");
            hdr.ipv4.dst_addr: ternary @name("destination");
            meta.protocol: ternary @name("protocol");
            meta.src_port: range @name("source_port");
            meta.dst_port: range @name("port");
        }
        actions = {
            allow;
            allow_limited;
            deny;
            reject;
        }
        default_action = deny(0);
        counters = hits_ipv4;
        size = 16384;
    }

    table rules_ipv6 {
        key = {
            meta.from_zone: ternary @name("from");
            meta.to_zone: ternary @name("to");
            hdr.ipv6.src_addr: ternary @name("source");
            hdr.ipv6.dst_addr: ternary @name("destination");
            meta.protocol: ternary @name("protocol");
            meta.src_port: range @name("source_port");
            meta.dst_port: range @name("port");
        }
        actions = {
            allow;
            allow_limited;
            deny;
            reject;
        }
        default_action = deny(0);
        counters = hits_ipv6;
        size = 16384;
    }

    apply {
        verdict = VERDICT_DENY;
        terms = { 0, 0, 0, 0, 0 };
        policies.apply();
        if (verdict == VERDICT_RULES) {
            if (hdr.ipv4.isValid()) {
                rules_ipv4.apply();
            } else {
                rules_ipv6.apply();
            }
        }
    }
}

#endif
