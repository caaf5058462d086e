//! `forebay allocate` as a user calls it.

mod support;

use serde_json::Value;
use support::{folder, forebay, write};

const EXPERIMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../experiments/allocation");

fn functions() -> String {
    format!("{EXPERIMENT}/functions.toml")
}

#[test]
fn the_experiment_runs_the_plans_that_the_command_writes() {
    let out = folder();
    let plan = out.path().join("plan.stf");
    let plan = plan.to_str().expect("text");
    for (name, code, options) in [("solved", 0, &[][..]), ("first-fit", 1, &["--first-fit"][..])] {
        let ran = forebay(&[&["allocate", &functions(), "--commands", plan], options].concat());
        assert_eq!(ran.code, code, "{}", ran.stderr);
        let written = std::fs::read_to_string(plan).expect("the plan");
        let recorded = std::fs::read_to_string(format!("{EXPERIMENT}/{name}.stf")).expect("the recorded plan");
        assert_eq!(
            written, recorded,
            "experiments/allocation/{name}.stf is no longer what the command writes"
        );
    }
}

#[test]
fn a_plan_is_text_and_json() {
    let text = forebay(&["allocate", &functions()]);
    assert!(text.stdout.contains("recirculated: 450.0 Gbps"), "{}", text.stdout);
    assert!(text.stdout.contains("no plan recirculates less"), "{}", text.stdout);
    let cut_short = forebay(&["allocate", &functions(), "--looks", "1"]);
    assert!(
        cut_short.stdout.contains("the search ended after 1 placements"),
        "{}",
        cut_short.stdout
    );
    let json = forebay(&["allocate", &functions(), "--json"]);
    let plan: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(plan["recirculated_gbps"], 450.0);
    assert_eq!(plan["is_proven"], true);
    assert_eq!(plan["places"].as_array().map(Vec::len), Some(8));
    assert_eq!(plan["routes"][0]["passes"][1]["port"], 17);
}

#[test]
fn mistakes_name_the_file() {
    let out = folder();
    let text = std::fs::read_to_string(functions()).expect("the file");
    let unknown = write(out.path(), "chip.toml", &text.replace("\"tofino\"", "\"trident\""));
    let ran = forebay(&["allocate", &unknown]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("chip.toml:2: there is no chip trident; there are: "),
        "{}",
        ran.stderr
    );
    let ideal = write(
        out.path(),
        "ideal.toml",
        &text.replace("\"tofino\"", "\"v1model-ideal\""),
    );
    let ran = forebay(&["allocate", &ideal]);
    assert!(
        ran.stderr.contains("chip v1model-ideal has no stages"),
        "{}",
        ran.stderr
    );
    let fast = write(out.path(), "fast.toml", &text.replacen("gbps = 50", "gbps = 1e308", 1));
    let ran = forebay(&["allocate", &fast]);
    let line = 1 + text.split("gbps = 50").next().expect("a flow").matches('\n').count();
    let expected = format!("fast.toml:{line}: flow ");
    assert!(
        ran.stderr.contains(&expected) && ran.stderr.contains("at most 100"),
        "{}",
        ran.stderr
    );
    let none = write(out.path(), "none.toml", "");
    let ran = forebay(&["allocate", &none]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("none.toml:1: the key `chip` is missing"),
        "{}",
        ran.stderr
    );
}

/// Each case: a part of the file, its replacement, the line, and the message.
#[test]
fn programs_chain_takes_every_action() {
    let out = folder();
    let text = std::fs::read_to_string(functions()).expect("the file");
    let police = "action = \"count(index:0)\"";
    for (to, expected) in [
        ("action = \"cont(index:0)\"", "did you mean `count`?"),
        ("action = \"count(number:0)\"", "number"),
        ("action = \"count()\"", "index"),
        ("action = \"count(index:256)\"", "the value needs 9 bits, there are 8"),
        ("action = \"count(index:0\"", "8: function police: action"),
        ("action = \"leave_by(port:3)\"", "leave_by"),
        (
            "action = \"count(index:0)\\nremove all\"",
            "it is one action in one line",
        ),
    ] {
        let file = write(out.path(), "wrong.toml", &text.replacen(police, to, 1));
        let ran = forebay(&["allocate", &file]);
        assert_eq!(ran.code, 2, "{to}: {}", ran.stdout);
        let said = &ran.stderr;
        assert!(
            said.contains("wrong.toml:8: function police: action") && said.contains(expected),
            "{to}: {said}"
        );
    }
}

#[test]
fn programs_chain_takes_the_whole_plan() {
    let out = folder();
    let text = std::fs::read_to_string(functions()).expect("the file");
    let file = write(out.path(), "twice.toml", &text.replacen("from = 18", "from = 0", 1));
    assert_eq!(forebay(&["allocate", &file]).code, 0, "a plan need not become entries");
    let plan = out.path().join("plan.stf");
    let ran = forebay(&["allocate", &file, "--commands", plan.to_str().expect("text")]);
    assert_eq!((ran.code, plan.exists()), (2, false), "{}", ran.stdout);
    let line = 1 + text
        .split("name = \"content\"")
        .next()
        .expect("a flow")
        .matches('\n')
        .count();
    let expected = format!("twice.toml:{line}: programs/chain refuses `add flows ingress_port:0 begin(flow:1)`: ");
    assert!(
        ran.stderr.contains(&expected) && ran.stderr.contains("has already an entry"),
        "{}",
        ran.stderr
    );
}
