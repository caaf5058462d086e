//! `forebay doctor` as a user runs it.

mod support;

use serde_json::Value;
use support::forebay;

#[test]
fn the_host_is_described_for_people_and_for_programs() {
    let text = forebay(&["doctor"]).stdout;
    assert!(text.lines().any(|line| line.contains("  kernel ")), "{text}");
    let done = forebay(&["doctor", "lo", "--json"]);
    let said: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let checks = said["checks"].as_array().expect("a list");
    assert!(checks.iter().any(|check| check["name"] == "lo"), "{said}");
    let lacks = |check: &Value| check["verdict"] == "lacking";
    assert_eq!(done.code == 1, checks.iter().any(lacks), "{said}");
    for check in checks.iter().filter(|check| check["verdict"] != "good") {
        assert!(check["why"] != "" && check["mend"] != "", "{check}");
    }
}

#[test]
fn an_interface_that_is_not_there_is_lacking() {
    let done = forebay(&["doctor", "no-such-interface"]);
    assert_eq!(done.code, 1, "{}", done.stdout);
    assert!(done.stdout.contains("there is no such interface"), "{}", done.stdout);
}
