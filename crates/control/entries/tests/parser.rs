//! The commands that the parser accepts, its messages about mistakes, and that it never panics.

use forebay_entries::{Command, CounterIndex, Pattern, parse};
use proptest::prelude::*;

fn only(text: &str) -> Command {
    let mut test = parse(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    assert_eq!(test.commands.len(), 1);
    test.commands.remove(0).value
}

fn error(text: &str) -> String {
    let errors = parse(text).expect_err(text);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].to_string()
}

#[test]
fn an_entry_with_everything() {
    let Command::Add(entry) =
        only(r#"ADD c.t 100 hdr.h[0].f:0x12** "x.y z":7/3 a:0b1&&&0b1 b:1->9 c.a(p:1, q:0x2) = H"#)
    else {
        panic!("an add");
    };
    assert_eq!(entry.entry.table, "c.t");
    assert_eq!(entry.entry.priority, Some(100));
    let names: Vec<_> = entry.entry.matches.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["hdr.h[0].f", "x.y z", "a", "b"]);
    assert!(matches!(entry.entry.matches[1].pattern, Pattern::Prefix(_, 3)));
    assert!(matches!(entry.entry.matches[2].pattern, Pattern::Masked(..)));
    assert!(matches!(entry.entry.matches[3].pattern, Pattern::Range(..)));
    assert_eq!(entry.action.name, "c.a");
    assert_eq!(entry.action.args.len(), 2);
    assert_eq!(entry.handle.as_deref(), Some("H"));
}

#[test]
fn comments_and_blank_lines() {
    let test = parse("# all\n\n  wait # more\n\tpacket 0 0 1 # data\n").unwrap();
    assert_eq!(test.commands.len(), 2);
    assert_eq!((test.commands[1].line, test.commands[1].column), (4, 2));
}

#[test]
fn expectations() {
    let Command::Expect {
        port,
        packet: Some(packet),
    } = only("expect 3 01 ** 0* $")
    else {
        panic!("an expect")
    };
    assert_eq!(port, 3);
    assert_eq!(packet.to_string(), "01**0*$");
    assert_eq!(only("expect 5"), Command::Expect { port: 5, packet: None });
}

#[test]
fn counters() {
    let Command::CheckCounter {
        index,
        condition: Some(condition),
        ..
    } = only("check_counter c($A) packets >= 2")
    else {
        panic!("a check");
    };
    assert_eq!(index, CounterIndex::Entry("A".to_string()));
    assert!(condition.comparison.holds(2, condition.value));
    assert!(matches!(
        only("check_counter c(1)"),
        Command::CheckCounter { condition: None, .. }
    ));
}

#[test]
fn mistakes_are_placed_and_explained() {
    assert_eq!(
        error("packet 0 012"),
        "1:13: 3 hexadecimal digits are no whole number of bytes"
    );
    assert_eq!(
        error("\npacket 0 01 zz"),
        "2:13: expected hexadecimal digits, found `zz`"
    );
    assert_eq!(
        error("add t k:1"),
        "1:10: expected a key field or an action, found the end of the line"
    );
    let numbers = "STF has no addresses, only numbers: write";
    for (line, number) in [
        ("add t k:10.0.0.0/8 a()", "0x0a000000"),
        ("add t k:1 a(x:00:11:22:aa:44:55)", "0x001122aa4455"),
        ("add t k:ca:fe:00:00:00:01 a()", "0xcafe00000001"),
        ("add t k:2001:db8::1 a()", "0x20010db8000000000000000000000001"),
    ] {
        assert!(error(line).ends_with(&format!("{numbers} {number}")), "{}", error(line));
    }
    assert_eq!(error("add t k:0xzz a()"), "1:9: `0xzz` is no hexadecimal number");
    assert_eq!(
        error("add t k:1 a(x:1"),
        "1:16: expected `,`, found the end of the line"
    );
    assert_eq!(error("add t k:1 a(x:0x*)"), "1:15: an argument's value has no `*`");
    assert_eq!(error("register_write r 0 0x1*"), "1:20: a value has no `*`");
    assert_eq!(
        error("expect 0 00 $ 11"),
        "1:15: expected nothing after `$`, found `11`"
    );
    assert_eq!(error("add \"t"), "1:5: this quotation mark is never closed");
    assert_eq!(
        error("mc_mgrp_create 99999999999"),
        "1:16: 99999999999 is too large for a multicast group"
    );
    assert_eq!(error("wait 3 4"), "1:8: expected the end of the line, found `4`");
    assert_eq!(
        error("wait 5000000000"),
        "1:6: a test waits for at most 1000000 seconds at a time"
    );
    assert!(error("paket 0 00").contains("there is no command `paket`; did you mean `packet`?"));
    assert!(error("xyz 0 00").contains("the commonest are add, "));
    assert_eq!(parse("x\ny\n").expect_err("two mistakes").len(), 2);
}

#[test]
fn a_key_that_is_a_slice_stands_between_quotes() {
    assert_eq!(
        error("add t h.a[3:0]:1 a()"),
        "1:10: an index is a decimal number between brackets; a name with other characters stands between quotes"
    );
    let Command::Add(entry) = only("add t \"h.a[3:0]\":1 a()") else {
        panic!("an entry");
    };
    assert_eq!(entry.entry.matches[0].name, "h.a[3:0]");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn text_that_looks_like_stf(text in "(add|expect|packet|check_counter|remove|mc_node_create)( |:|\\(|\\)|[a-f0-9x*$.\\[\\]\"/=<>,-])*") {
        let _ = parse(&text);
    }
}

/// Set `P4C` to a checkout of p4c to read every STF file of its test programs.
#[test]
fn every_file_of_p4c() {
    let Some(root) = std::env::var_os("P4C") else {
        return;
    };
    let mut files = 0;
    for folder in ["p4_16_samples", "p4_16_samples/parser-inline", "p4_14_samples"] {
        let folder = std::path::Path::new(&root).join("testdata").join(folder);
        for entry in std::fs::read_dir(&folder).expect("the folder exists").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "stf") {
                let text = std::fs::read_to_string(&path).expect("a readable file");
                if let Err(errors) = parse(&text) {
                    panic!("{}: {errors:?}", path.display());
                }
                files += 1;
            }
        }
    }
    assert!(files > 250, "{files}");
}

/// One mistake does not make commands something else, and a command's name in some lines does not make a text commands.
#[test]
fn commands_are_told_from_other_texts() {
    for text in ["packet -1 00", "packt 1 00\n# text\n\n", "add t k:1 a()\nx\n"] {
        assert!(forebay_entries::are_commands(text), "{text}");
    }
    for text in [
        "",
        "# packet 1 00\n",
        "some words\n",
        "packet 1 00\n{\n}\n",
        "table_add t a 1 => 2\n",
    ] {
        assert!(!forebay_entries::are_commands(text), "{text}");
    }
}
