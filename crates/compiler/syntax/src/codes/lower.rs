//! Codes E08xx: what lowering reports, and the limits among E09xx that stand there.

use super::codes;

codes! {
    E0801 UNSUPPORTED_ARCHITECTURE: "architecture that cannot be executed",
        "Any P4_16 program can be checked, but only programs for v1model, whose `main` is a `V1Switch(...)` with six blocks, for PSA, whose `main` is a `PSA_Switch(...)`, and for PNA, whose `main` is a `PNA_NIC(...)`, can be built, tested and run.";
    E0802 UNSUPPORTED_EXTERN: "extern that cannot be executed",
        "The extern function, object or method is declared, but it is not part of the architecture, so there is nothing to execute. The message lists what there is.";
    E0803 NO_MAIN: "program without main",
        "A program that is to be executed instantiates the architecture's package under the name `main`: V1Switch(MyParser(), MyVerifyChecksum(), MyIngress(), MyEgress(), MyComputeChecksum(), MyDeparser()) main; A file that is only included by others has none: name the file that includes it.";
    E0804 UNSUPPORTED_TYPE: "type that cannot be used here",
        "Values of this type cannot be stored, looked at or given by the control plane at this place. Action data are single values: bit<W>, int<W>, bool, enums and types made from them. Registers hold values of a fixed number of bits: these, and structs of them.";
    E0805 NOT_COMPILE_TIME: "value not known at compile time",
        "Sizes, entries, arguments of constructors and algorithms must be known when the program is compiled: literals, constants and constructor parameters.";
    E0806 INVALID_PROPERTY: "wrong value of a table property",
        "`implementation` takes an action_profile or action_selector, `counters` a direct_counter, `meters` a direct_meter.";
    E0807 INVALID_ENTRY: "entry does not fit the match kind",
        "An exact key takes one value; an lpm key a value or a mask of ones followed by zeros; a ternary key a value or any mask; a range key a value or a range; an optional key a value. `_` fits all but exact keys.";
    E0808 UNSUPPORTED_MATCH_KIND: "match kind that cannot be executed",
        "Tables can be executed with the match kinds exact, lpm, ternary, range, optional and selector.";
    E0809 MISPLACED_CALL: "call in the wrong block",
        "Each block of the architecture has its own externs: extract, lookahead, advance and verify stand in the parser, emit in the deparser, and what decides about the packet (mark_to_drop, clone, resubmit, recirculate, truncate) in ingress and egress.";
    E0810 NOT_A_HEADER: "not a header",
        "Only headers, and members of header unions, can be extracted. Extract the headers inside a struct one by one.";
    E0811 UNSUPPORTED_EXPRESSION: "expression that cannot be executed",
        "The program is correct P4, but this expression cannot be executed. The message says what would be needed.";
    E0812 INVALID_ID: "id that cannot be given",
        "`@id(n)` gives an object, match field or parameter its number in P4Runtime. Numbers are positive, two of one kind differ, and the highest 8 bits of an object's id, if they are not 0, are those of its kind.";
    E0813 DUPLICATE_NAME: "control-plane name used twice",
        "Two tables, or two other objects of one kind, have the same full name, so that a controller could not tell them apart. Rename one, or give it another name with @name.";
    E0814 ACTION_SCOPE: "action where its annotation forbids it",
        "An action marked @tableonly cannot be the default action, one marked @defaultonly cannot be the action of an entry, and one cannot be both.";
    E0815 INVALID_KEYS: "match kinds that cannot stand together",
        "A table can have one lpm key: two longest prefixes would have no order among them. Use ternary for the others.";
    W0816 INVALID_CONSTRAINT: "constraint that cannot be read",
        "@entry_restriction(\"...\") on a table says what its entries must satisfy, @action_restriction(\"...\") on an action what its data must. Both are written in the language of p4-constraints: keys by their names in P4Info and their parts (`hdr.ipv4.dst::value`, `::mask`, `::prefix_length`, `::low`, `::high`), `::priority`, numbers, comparisons, `!`, `&&`, `||`, `->` and `;`. The program runs, but a controller cannot write entries of the table, or use the action.";
    W0817 CONSTRAINT_VIOLATED: "entry that the constraint of its table or action forbids",
        "A table's @entry_restriction holds for the entries that stand in the program too, and an action's @action_restriction for the data that the program gives it. The entry is there all the same, but a controller could not write it.";
    E0818 ELEMENT_NAMES: "names that do not fit the elements of a counter",
        "@element_names(\"first\", \"second\") on a counter array names its elements in their order: one name for each. A direct counter has no elements but those of its table's entries.";
    W0801 EMPTY_FIELD_LIST: "no field is in this list",
        "A packet that is cloned, resubmitted or recirculated keeps the metadata fields that are marked with @field_list and this number. None is, so it keeps nothing. Where a packet is sent back, list 0 without fields says that this is meant, if each list that has fields is named by some call or the 0 is a constant with a name.";
    W0802 WRITTEN_IN_VAIN: "metadata written where it has no effect",
        "In ingress `egress_port` is not the packet's way out: the traffic manager sets it from `egress_spec` when the packet goes to egress, whatever ingress has written. In egress the port is chosen already: `egress_spec` has a meaning there only when it is 511, which drops the packet.";
    W0803 KEY_WITHOUT_SELECTOR: "selector key without an action selector",
        "Keys of match kind `selector` do not match: they are hashed to choose a member of a group of the table's action selector. In a table that has none they have no effect, and PSA forbids them.";
    W0804 CHECKSUM_IN_OTHER_CONTROL: "checksum verified or updated in the control for the other",
        "v1model calls VerifyChecksum between the parser and ingress, ComputeChecksum between egress and the deparser. A checksum that is updated in VerifyChecksum does not take part in what ingress and egress change; one that is verified in ComputeChecksum is looked at by nothing.";
    W0805 NOT_WHOLE_BYTES: "header that has no whole bytes",
        "The fields of the header do not fill whole bytes, so all that is extracted after it begins within a byte. Mostly the width of a field is wrong. BMv2 and Tofino refuse such headers.";
    W0806 NEVER_EMITTED: "header that is extracted, but not emitted",
        "The deparser puts the packet together from the headers that it emits, and what the parser has not extracted. A header that is extracted and not emitted is missing in every packet that leaves. If a header is to be removed, emit it all the same and make it invalid where it is removed: `hdr.h.setInvalid();`.";
    W0807 INDEX_OUTSIDE: "index outside of an array",
        "The index is a constant, and not smaller than the number of elements that the register, counter or meter was made with. Nothing is written or counted there, and 0 is read.";
    W0808 DIRECT_WITHOUT_TABLE: "direct counter or meter of no table",
        "A direct counter or meter has an element for each entry of its table, which names it: `counters = c;` or `meters = m;`. One that no table names counts and measures nothing.";
    W0809 STALE_CHECKSUM: "checksum that is not computed anew",
        "Ingress or egress changes a field of a header that has a checksum, and no statement writes the checksum. Receivers drop packets whose checksum is wrong. update_checksum in the control ComputeChecksum writes it, `update_checksum_with_payload` one that covers the payload; a checksum of UDP over IPv4 may be set to 0. Programs that recirculate are not looked at.";
    W0810 EXCHANGED_BLOCKS: "ingress and egress exchanged",
        "Ingress and egress of v1model have the same parameters, so that each fits the place of the other. By their names the two have changed places.";
    W0811 LOG_VALUES: "log message with other values than places",
        "Each `{}` in the text of log_msg stands for a value of its second argument, in their order. Places without a value stay as they are, and values without a place are left out.";
    W0812 EMITTED_TOO_EARLY: "headers emitted in another order than extracted",
        "The deparser writes headers in the order in which it emits them. This one is written before another that precedes it in every packet from which the parser extracts both, and the program makes neither of them valid or invalid, so no receiver can read what leaves. `emit` of a struct emits its headers in the order in which the struct declares them. Programs that recirculate are not looked at.";
    W0813 SELECTOR_WITHOUT_KEY: "action selector without a selector key",
        "An action selector chooses a member of an entry's group by a hash of the keys whose match kind is selector. The table has none, so the hash is the same for all packets, and so is the member.";
    W0814 CHECKSUM_OF_ITSELF: "checksum over itself",
        "The Internet checksum (RFC 1071) is computed as if its own field was 0. With the field among the data the old checksum is added, so what is computed or compared is wrong for every packet, unless the program sets the field to 0 before it updates it.";
    W0815 NO_PORT_CHOSEN: "packets that are given no port",
        "In v1model `egress_spec` is the port by which a packet leaves, and `mcast_grp` the group of ports to which it is copied. Both are 0 at first, and no statement of the program writes them, so that every packet that is not dropped leaves by port 0. In PSA a packet is dropped unless ingress says otherwise, as `send_to_port` and `multicast` do; in PNA unless the main control calls `send_to_port`, `recirculate` or, for a copy, `mirror_packet`. Programs that choose a port for some packets, that drop packets in this control itself, or that clone packets in ingress of PSA, are not warned of.";
    W0818 LITTLE_ROOM: "varbit field that is wider than what is kept of it",
        "Of a field varbit<W> at most 65,536 bits are kept, which is 8,192 bytes. Shorter contents are not concerned. A packet from which more is to be extracted into the field is rejected by the parser with error.HeaderTooShort, as one that is longer than W is.";
    W0851 NOT_ON_BMV2: "not portable to BMv2",
        "`forebay check --lint portability` also lists what p4c's back end for BMv2 refuses or simple_switch stops at, though it is correct P4 and runs here.";
    W0852 NOT_ON_TOFINO: "not portable to Tofino",
        "`forebay check --lint portability` also lists what the match-action stages of Tofino cannot compute, though it is correct P4 and runs here. Whether a program fits the chip is what `forebay build --chip tofino` says.";
    E0911 TOO_MANY_SLOTS: "too much storage",
        "The headers, metadata and variables of the program, once all instances and stacks are flattened, are more than a packet can carry. Use smaller stacks or arrays.";
    E0912 PROGRAM_TOO_LARGE: "program too large once inlined",
        "Every call of a function, action, sub-parser or sub-control is inlined. Calls that call others several times grow exponentially with their depth.";
    E0913 INLINING_TOO_DEEP: "calls nested too deeply",
        "Calls are inlined in one another up to a fixed depth.";
    E0914 SIZE_TOO_LARGE: "size negative or too large",
        "The size of a table, register, counter, meter or list is negative, or beyond what can be kept in memory.";
    E0915 TOO_MANY_INSTANCES: "too many instances",
        "Every instance of a parser or control has instances of everything declared in it, so that their number can grow exponentially with the depth.";
    E0916 TOO_MANY_ALTERNATIVES: "too many alternatives",
        "An index that is not constant chooses among all elements of a stack or array, and indices of indices among the product of them; a select case with ranges over signed keys becomes several cases.";
}
