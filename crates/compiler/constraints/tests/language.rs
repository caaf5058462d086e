//! The language, by its specification: what is taken, what is refused where, and what holds.

use forebay_bits::Bits;
use forebay_constraints::{Constraint, Entry, IrEntry, Key, Kind, Mistake, Part, Subject, Value, Values};
use forebay_ir::EntryMatch;
use proptest::prelude::*;

fn key(name: &str, kind: Kind, width: u32) -> Key {
    Key {
        name: name.to_string(),
        kind,
        values: Values::Bits(width),
    }
}

fn keys() -> Vec<Key> {
    vec![
        key("valid", Kind::Exact, 1),
        key("hdr.ipv4.dst", Kind::Ternary, 32),
        key("hdr.ipv6.dst", Kind::Lpm, 128),
        key("port", Kind::Range, 16),
        key("hdr.ipv4.src", Kind::Optional, 32),
        key("ether_type", Kind::Exact, 16),
    ]
}

fn bits(width: u32, value: u128) -> Bits {
    Bits::new(width, value)
}

/// Valid, to 10.0.0.0/8 and 2001:db8::/32, from port 80 on, from anywhere, IPv4.
fn matches() -> Vec<EntryMatch> {
    vec![
        EntryMatch::Exact(bits(1, 1)),
        EntryMatch::Ternary {
            value: bits(32, 0x0a00_0000),
            mask: bits(32, 0xff00_0000),
        },
        EntryMatch::Lpm {
            value: bits(128, 0x2001_0db8 << 96),
            prefix_length: 32,
        },
        EntryMatch::Range {
            low: bits(16, 80),
            high: bits(16, 0xffff),
        },
        EntryMatch::Optional(None),
        EntryMatch::Exact(bits(16, 0x0800)),
    ]
}

fn constraint(text: &str) -> Constraint {
    Constraint::new(text, Subject::Table, &keys()).unwrap_or_else(|mistake| panic!("{text}: {mistake}"))
}

fn mistake(text: &str) -> Mistake {
    Constraint::new(text, Subject::Table, &keys())
        .map(|_| ())
        .expect_err(text)
}

fn violation(text: &str) -> Option<String> {
    let matches = matches();
    let entry = IrEntry {
        matches: &matches,
        priority: 7,
    };
    constraint(text)
        .check(&entry)
        .err()
        .map(|violation| violation.to_string())
}

#[test]
fn what_holds() {
    let good = [
        "true",
        "valid == 1",
        "valid::value == 1; ether_type == 0x800;",
        "hdr.ipv4.dst::mask == 0xff000000 && hdr.ipv4.dst::value == ipv4('10.0.0.0')",
        "hdr.ipv4.dst != 0x0a000000",
        "hdr.ipv6.dst::prefix_length <= 64",
        "hdr.ipv6.dst::value == ipv6('2001:db8::')",
        "-hdr.ipv6.dst::prefix_length == -32",
        "port::low > 10 && port::high == -1",
        "hdr.ipv4.src::mask == 0",
        "hdr.ipv4.src != 5",
        "!(valid == 0)",
        "false -> false",
        "valid == 0 -> hdr.ipv4.dst::mask == 0",
        "(valid == 1) != (ether_type == 7)",
        "true == true",
        "::priority < 0x7fffffff && ::priority == 7",
        "1 == 0b1 && 8 == 0o10 && 0d9 == 9 && 0XFF == 255",
        "mac('00:00:00:00:00:05') == 5",
        "// before\nvalid == 1; /* between */ ether_type != 5 // after",
        "(valid == 1; true)",
        "hdr.ipv4.dst == hdr.ipv4.dst",
        "valid == 1 || false && false",
    ];
    for text in good {
        assert_eq!(violation(text), None, "{text}");
    }
}

#[test]
fn what_does_not_hold_is_said_with_what_was_seen() {
    let bad = [
        ("false", "`false` does not hold"),
        ("true; valid == 0", "`valid == 0` does not hold: `valid` is 1"),
        (
            "valid == 1; // c\n hdr.ipv4.dst::mask != 0 ->\n   ether_type == 0x86dd",
            "`hdr.ipv4.dst::mask != 0 -> ether_type == 0x86dd` does not hold: `hdr.ipv4.dst::mask` is 0xff000000, \
             `ether_type` is 0x800",
        ),
        (
            "hdr.ipv4.dst == 0x0a000000",
            "`hdr.ipv4.dst == 0x0a000000` does not hold: `hdr.ipv4.dst::value` is 0xa000000, `hdr.ipv4.dst::mask` is \
             0xff000000",
        ),
        (
            "(true && ::priority > 7)",
            "`::priority > 7` does not hold: `::priority` is 7",
        ),
        (
            "port == 80",
            "`port == 80` does not hold: `port::low` is 0x50, `port::high` is 0xffff",
        ),
    ];
    for (text, expected) in bad {
        assert_eq!(violation(text).as_deref(), Some(expected));
    }
}

#[test]
fn mistakes_have_a_place() {
    let wrong = [
        ("", "empty", ""),
        (" // only\n", "empty", " // only\n"),
        ("foo.bar == 2", "no key `foo.bar`", "foo.bar"),
        ("valid == 0b2", "no number of base 2", "0b2"),
        ("error here", "`here` does not belong", "here"),
        (
            "hdr.ipv4.dst::prefix_length == 1",
            "matched as ternary",
            "hdr.ipv4.dst::prefix_length",
        ),
        ("0x0f :: value == 1", "only keys have parts", "0x0f :: value"),
        (
            "hdr.ipv4.dst::mask::value == 1",
            "only keys have parts",
            "hdr.ipv4.dst::mask::value",
        ),
        ("valid == 1 -> -false", "this is a condition", "false"),
        ("!1", "a condition is wanted here, and this is a number", "1"),
        ("hdr.ipv4.src > 10", "has no order", "hdr.ipv4.src > 10"),
        ("true < false", "have no order", "true < false"),
        ("::unknown > 10", "no attribute `unknown`", "::unknown"),
        ("valid == 0 == true", "needs parentheses", "=="),
        ("true -> true -> true", "needs parentheses", "->"),
        (
            "valid == ether_type",
            "1 bits cannot be compared with a value of 16 bits",
            "valid == ether_type",
        ),
        ("(valid == 1", "expected `)`", ""),
        ("valid ==", "expected a key", ""),
        ("-valid == 1", "numbers without a width", "valid"),
        ("ip('1.2.3.4') == 1", "no notation `ip`", "ip"),
        ("valid == ipv4('300.1.1.1')", "is no ipv4 address", "'300.1.1.1'"),
        ("valid == 'a'", "a string can be compared with", "valid == 'a'"),
        (
            "valid",
            "a condition is wanted here, and this is a value of 1 bits",
            "valid",
        ),
        ("valid == ü", "no meaning", "ü"),
    ];
    for (text, message, place) in wrong {
        let mistake = mistake(text);
        assert!(mistake.message.contains(message), "{text}: {}", mistake.message);
        assert_eq!(&text[mistake.place.clone()], place, "{text}");
    }
    assert_eq!(
        mistake("hdr.ipv4.dst::low == 1").to_string(),
        "`hdr.ipv4.dst` (matched as ternary) has no part `low`; there is `value`, `mask`"
    );
}

#[test]
fn nesting_has_a_limit() {
    for text in ["(".repeat(100_000), "!".repeat(100_000), "-".repeat(100_000)] {
        assert!(
            mistake(&text).message.contains("nests deeper than 100"),
            "{}",
            mistake(&text)
        );
    }
    let chain = "valid == 1 && ".repeat(100_000) + "true";
    assert_eq!(violation(&chain), None);
}

#[test]
fn actions_have_parameters() {
    let parameters = [key("group", Kind::Exact, 16)];
    let read = |text| Constraint::new(text, Subject::Action, &parameters);
    let group = |number| [EntryMatch::Exact(bits(16, number))];
    let constraint = read("group != 0; group < 100").unwrap();
    let check = |number| {
        let matches = group(number);
        let entry = IrEntry {
            matches: &matches,
            priority: 0,
        };
        constraint.check(&entry).is_ok()
    };
    assert!(check(5));
    assert!(!check(0));
    assert!(!check(100));
    assert_eq!(constraint.text(), "group != 0; group < 100");
    assert!(read("::priority > 0").unwrap_err().message.contains("no attributes"));
    assert!(read("port == 1").unwrap_err().message.contains("no parameter `port`"));
}

/// One key, a string; it may be left out.
struct Named(Option<&'static str>);

impl Entry for Named {
    fn part(&self, _key: usize, part: Part) -> Value {
        match (part, self.0) {
            (Part::Mask, name) => Value::Number(u8::from(name.is_some()).into()),
            (_, name) => Value::Text(name.unwrap_or_default().into()),
        }
    }

    fn priority(&self) -> i64 {
        0
    }
}

#[test]
fn strings() {
    let keys = [Key {
        name: "vrf".to_string(),
        kind: Kind::Optional,
        values: Values::Text,
    }];
    let holds = |text: &str, name| {
        let constraint = Constraint::new(text, Subject::Table, &keys).unwrap_or_else(|mistake| panic!("{mistake}"));
        constraint.check(&Named(name)).is_ok()
    };
    assert!(holds("vrf == 'red'", Some("red")));
    assert!(!holds("vrf == 'red'", Some("blue")));
    assert!(!holds("vrf == 'red'", None));
    assert!(holds("vrf::mask == 0", None));
    assert!(holds("vrf::mask == -1", Some("red")));
    assert!(holds("vrf::value != 0", Some("red")), "0 is the empty string");
    assert!(holds("vrf::value < 'b'", Some("a")));
    assert!(!holds("vrf::value < 'b'", Some("aa")), "a longer string is larger");
    assert!(holds("vrf::value <= 0x6161", Some("aa")));
    assert!(holds("vrf::value < 1", None));
    let mistake = Constraint::new("vrf < 'a'", Subject::Table, &keys).unwrap_err();
    assert!(mistake.message.contains("has no order as a whole"));
    assert_eq!(mistake.options, ["`vrf::value`", "`vrf::mask`"]);
}

proptest! {
    /// Whatever the text: a constraint or a mistake inside it, and never a panic.
    #[test]
    fn any_text(text in "[a-z0-9 :;&|=!<>()'/*.$\\[\\]-]{0,60}") {
        match Constraint::new(&text, Subject::Table, &keys()) {
            Ok(constraint) => {
                let matches = matches();
                let entry = IrEntry { matches: &matches, priority: 1 };
                let again = Constraint::new(&constraint.text(), Subject::Table, &keys()).expect("its text is one too");
                prop_assert_eq!(constraint.check(&entry).is_ok(), again.check(&entry).is_ok());
            }
            Err(mistake) => prop_assert!(mistake.place.end <= text.len()),
        }
    }

    /// Numbers and keys are compared as numbers.
    #[test]
    fn comparisons_are_those_of_numbers(value: u16, other: u16) {
        let keys = [key("k", Kind::Exact, 16)];
        let matches = [EntryMatch::Exact(bits(16, value.into()))];
        let holds = |operator| {
            let text = format!("k {operator} {other}");
            let entry = IrEntry { matches: &matches, priority: 0 };
            Constraint::new(&text, Subject::Table, &keys).expect("it is right").check(&entry).is_ok()
        };
        prop_assert_eq!(holds("=="), value == other);
        prop_assert_eq!(holds("!="), value != other);
        prop_assert_eq!(holds("<"), value < other);
        prop_assert_eq!(holds("<="), value <= other);
        prop_assert_eq!(holds(">"), value > other);
        prop_assert_eq!(holds(">="), value >= other);
    }
}
