//! Control-plane names of elaborated objects.

use crate::support::{Parts, ingress, lower};
use forebay_ir::CustomCrc;

#[test]
fn objects_are_named_after_their_instances() {
    let top = "control Inner(inout meta_t m) {
        register<bit<8>>(4) r;
        action act() { m.x = 1; }
        table t { key = { m.x: exact; } actions = { act; NoAction; } }
        apply { t.apply(); }
    }";
    let ingress = "Inner() one; @name(\"two\") Inner() other; apply { one.apply(m); other.apply(m); }";
    let program = lower(&Parts {
        top,
        ingress,
        ..Parts::default()
    });
    let tables: Vec<_> = program.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["I.one.t", "I.two.t"]);
    let registers: Vec<_> = program
        .registers
        .iter()
        .map(|register| register.name.as_str())
        .collect();
    assert_eq!(registers, ["I.one.r", "I.two.r"]);
    assert!(program.actions.iter().any(|action| action.name == "I.one.act"));
    assert!(program.actions.iter().any(|action| action.name == "NoAction"));
}

#[test]
fn name_annotations_replace_the_last_part_or_everything() {
    let program = ingress(
        "@name(\"u\") table t { key = { m.x: exact; } actions = { NoAction; } }
         @name(\".glo\" ++ \"ba\" ++ \"l\") table v { key = { m.x: exact @name[\"ke\" ++ \"y\"]; } actions = { NoAction; } }
         apply { t.apply(); v.apply(); }",
    );
    assert_eq!(program.tables[0].name, "I.u");
    assert_eq!(program.tables[1].name, "global");
    assert_eq!(program.tables[0].keys[0].name, "m.x");
    assert_eq!(program.tables[1].keys[0].name, "key");
}

#[test]
fn a_direct_application_is_named_after_its_type() {
    let top = "control Inner(inout meta_t m) { counter(2, CounterType.bytes) c; apply { c.count(0); } }";
    let ingress = "apply { Inner.apply(m); }";
    let program = lower(&Parts {
        top,
        ingress,
        ..Parts::default()
    });
    assert_eq!(program.counters[0].name, "I.Inner.c");
}

#[test]
fn validity_keys_have_the_name_that_p4runtime_expects() {
    let program = ingress(
        "table t { key = { hdr.h.isValid(): exact; hdr.s[1].a: exact; } actions = { NoAction; } }
         apply { t.apply(); }",
    );
    let names: Vec<_> = program.tables[0].keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["hdr.h.$valid$", "hdr.s[1].a"]);
}

#[test]
fn marked_fields_form_field_lists() {
    let program = ingress("apply { }");
    let list: Vec<_> = program.field_lists[&1]
        .iter()
        .map(|slot| program.slot(*slot).name.as_str())
        .collect();
    assert_eq!(list, ["m.kept"]);
    assert_eq!(program.slot(program.intrinsic["egress_spec"]).width, 9);
}

#[test]
fn constants_among_preserved_fields_are_left_out() {
    let program = ingress("apply { recirculate<bit<8>>(0); resubmit({ m.y, 8w5 }); }");
    let list: Vec<_> = program.field_lists[&255]
        .iter()
        .map(|slot| program.slot(*slot).name.as_str())
        .collect();
    assert_eq!(list, ["m.y"]);
}

#[test]
fn calculations_have_the_names_that_p4c_gives_them() {
    let program = ingress(
        "action unused() { hash(m.i, HashAlgorithm.crc32_custom, 32w0, { m.x }, 32w9); }
         action direct() { hash(m.i, HashAlgorithm.crc32_custom, 32w0, { m.y }, 32w9); }
         action first() { hash(m.i, HashAlgorithm.crc32, 32w0, { m.x }, 32w9); }
         action second() { hash(m.kept, HashAlgorithm.crc16_custom, 16w0, { m.x }, 32w9); }
         table t { key = { m.x: exact; } actions = { second; first; } default_action = first(); }
         apply {
            direct();
            t.apply();
            hash(m.i, HashAlgorithm.crc32_custom, 32w0, { m.x }, 32w9);
         }",
    );
    let named = program.calculations.iter();
    let named: Vec<_> = named
        .map(|calculation| (calculation.name.as_str(), calculation.crc))
        .collect();
    // The hash of `first` is `calc`.
    let (crc16, crc32) = (CustomCrc::Crc16, CustomCrc::Crc32);
    assert_eq!(named, [("calc_0", crc16), ("calc_1", crc32), ("calc_2", crc32)]);
}
