//! What the tab key offers.

use crate::support::Shell;

/// The words before the cursor, of which a blank at the end begins another, and what is offered.
const COMPLETIONS: &[(&str, &str)] = &[
    ("ta", "table"),
    ("table d", "default delete dump"),
    ("table add f", "filter fixed forwarding"),
    ("table add filter ", "do ingress_port= src_addr= total_len="),
    ("table add filter src_addr=1 s", ""),
    ("table add filter --priority 5 src_addr=1 t", "total_len="),
    ("table add filter --p", "--priority"),
    ("table add filter src_addr=1 do ", "NoAction allow drop mirror"),
    ("table add filter src_addr=1 => d", "drop"),
    ("table add routing 1 do set_next_hop port=1 ", "dst_addr="),
    ("table add routing 1 do drop or s", "set_next_hop"),
    ("profile m", "member"),
    ("profile member add n", "next_hop_selector"),
    ("profile member add next_hop_selector 1 do d", "drop"),
    ("profile member add next_hop_selector 1 -> d", "drop"),
    ("counter read ", "forward_counter port_counter"),
    ("register read l", "last_source"),
    ("digest watch ", "learned_t"),
    ("vset set ", "special_types"),
    ("packet out 00 ", "egress_port= padding="),
    ("info re", "registers"),
    ("nonsense ", ""),
];

#[test]
fn names_are_completed() {
    let shell = Shell::new();
    for (line, expected) in COMPLETIONS {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let offered = forebay_shell::complete(&shell.catalog, &words);
        assert_eq!(offered.join(" "), *expected, "{line}");
    }
}
