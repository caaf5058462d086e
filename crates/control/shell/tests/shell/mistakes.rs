//! What people read when they mistype.

use crate::support::Shell;

/// Each line, and a part of its message.
const MISTAKES: &[(&str, &str)] = &[
    (
        "tabel dump",
        "there is no command `tabel`\n  = help: did you mean `table`?",
    ),
    (
        "table",
        "`table` is not complete\n  = help: it continues with `list`, `dump`",
    ),
    ("table ad x", "did you mean `add`?"),
    ("table del forwarding dst_addr=1", "did you mean `delete`?"),
    (
        "register write last_source 3 = 5",
        "`5` is too much: register `last_source` has 1 value",
    ),
    ("batch", "the file is missing\n  = help: write: batch FILE"),
    ("begin now", "`now` is one word too many"),
    (
        "watch --interval 0",
        "--interval: 0s is too short: each look is a call\n  = help: write 1ms or more",
    ),
    ("watch --interval 20us", "--interval: 20us is too short"),
    ("batch f --rollback --continue", "are not given together"),
    ("counter read forward_counter 3", "`default` that of the default entry"),
    ("meter read filter_meter 3", "`default` that of the default entry"),
    (
        "meter reset filter_meter src_addr=10.0.0.1",
        "a direct meter has no indices but entries",
    ),
    (
        "table dump forwardin",
        "there is no table `forwardin`\n  = help: did you mean `forwarding`?",
    ),
    (
        "table add",
        "the name of the table is missing\n  = help: write: table add TABLE",
    ),
    (
        "table add forwarding dst=1 do drop",
        "table `forwarding` has no key field `dst`",
    ),
    (
        "table add forwarding dst_addr=1",
        "it is not said what the entry does\n  = help: add `do ACTION",
    ),
    (
        "table add forwarding do drop",
        "table `forwarding` needs `hdr.ethernet.dst_addr` (exact, bit<48>)",
    ),
    (
        "table add forwarding dst_addr=* do drop",
        "needs a value\n  = help: write a MAC address as 00:11",
    ),
    (
        "table add forwarding dst_addr=1 do dorp",
        "table `forwarding`: there is no action `dorp`\n  = help: did you mean `drop`?",
    ),
    (
        "table add forwarding dst_addr=1 do set_tos 1",
        "is no action of table `forwarding`\n  = help: its actions are",
    ),
    (
        "table add forwarding dst_addr=1 do forward",
        "`forward` needs `port` (bit<9>)\n  = help: add `port=VALUE`",
    ),
    (
        "table add forwarding dst_addr=1 do forward port=512",
        "does not fit in `port` (bit<9>)\n  = help: values are 0 to 511",
    ),
    (
        "table add forwarding dst_addr=1 do forward prot=1",
        "`forward` has no parameter `prot`\n  = help: did you mean `port`?",
    ),
    (
        "table add forwarding dst_addr=1 do forward 1 2",
        "`forward` has 1 parameter",
    ),
    ("table add forwarding dst_addr=1 dst_addr=2 do drop", "is given twice"),
    (
        "table add forwarding 1 2 do drop",
        "has no more key fields\n  = help: the action follows the word `do`",
    ),
    (
        "table add forwarding 1 do drop --priority 3",
        "entries of table `forwarding` have no priority",
    ),
    (
        "table add filter src_addr=10.0.0.1 do drop",
        "have a priority\n  = help: add `--priority N`",
    ),
    (
        "table add filter src_addr=10.0.0.1 do drop --priority 0",
        "have a priority\n  = help: add `--priority N`, 1 or more",
    ),
    (
        "table add filter src_addr=10.0.0.1 do drop --priority 2147483648",
        "--priority: `2147483648` is no number that fits\n  = help: numbers here are 0 to 2147483647",
    ),
    (
        "table dump forwarding --priority 5",
        "entries of table `forwarding` have no priority\n  = help: only ternary",
    ),
    (
        "table dump filter --priority 4294967295",
        "numbers here are 0 to 2147483647",
    ),
    (
        "profile group add next_hop_selector 1 1:4294967295",
        "weight: `4294967295` is no number that fits",
    ),
    (
        "profile group add next_hop_selector 1 1 --max-size 3000000000",
        "--max-size: `3000000000` is no number that fits",
    ),
    (
        "table delete filter src_addr=10.0.0.1",
        "have a priority\n  = help: add `--priority N`",
    ),
    (
        "table add filter src_addr=10.0.0.1 do drop --prority 3",
        "there is no option `prority`\n  = help: did you mean `priority`?",
    ),
    (
        "table add routing dst_addr=10.0.0.1/8 do drop",
        "did you mean `10.0.0.0/8`?",
    ),
    (
        "table add forwarding dst_adr=1 do drop",
        "table `forwarding` has no key field `dst_adr`\n  = help: did you mean `dst_addr`?",
    ),
    (
        "table add routing dst_addr=10.0.0.x do drop",
        "`10.0.0.x` is no value of `hdr.ipv4.dst_addr` (bit<32>)",
    ),
    (
        "table add classes protocol=6 do set_tos 1",
        "entries of table `classes` name a member",
    ),
    ("table add classes protocol=6 do member x", "member: `x` is no number"),
    (
        "table add learning src_addr=1 do learn --idle 1s",
        "do not time out\n  = help: its declaration needs",
    ),
    ("table delete fixed", "needs `hdr.ethernet.ether_type` (exact, bit<16>)"),
    ("counter read port_conter", "did you mean `port_counter`?"),
    (
        "counter read port_counter 512",
        "has no elements 512\n  = help: its elements are 0 to 511",
    ),
    ("counter read forward_counter 1", "has no indices but entries"),
    (
        "meter set port_meter 1 --cir 5",
        "the committed rate and burst are missing",
    ),
    (
        "meter set port_meter 1 --priority 3 --cir 5 --cburst 6",
        "meter `port_meter` has indices, and no priority\n  = help: --priority names an entry",
    ),
    (
        "meter set port_meter 1 --cir 9223372036854775808 --cburst 6",
        "numbers here are 0 to 9223372036854775807",
    ),
    (
        "register write last_source 1",
        "the value of register `last_source` is missing",
    ),
    ("register write last_source 1 -5", "`-5` is no value"),
    ("register read last_source 5..3", "its elements are 0 to 15"),
    (
        "profile group add class_profile 1 1",
        "is no action selector: it has no groups",
    ),
    ("multicast add 0 1", "0 is no number of a group"),
    (
        "vset set special_types",
        "the members are missing\n  = help: `vset clear special_types` takes",
    ),
    ("packet out 012", "`012` is no packet"),
    ("packet out +1+2", "`+1+2` is no packet"),
    ("packet out 01 egres_port=1", "did you mean `egress_port`?"),
    ("info tabels", "did you mean `tables`?"),
    ("table list now", "`now` is one word too many"),
    ("table dump 'x", "the quote ' is not closed"),
];

#[test]
fn mistakes_say_what_would_be_right() {
    let shell = Shell::new();
    for (line, expected) in MISTAKES {
        match shell.read(line) {
            Ok(command) => panic!("{line}: {command:?}"),
            Err(mistake) => assert!(mistake.contains(expected), "{line}:\n{mistake}"),
        }
    }
}
