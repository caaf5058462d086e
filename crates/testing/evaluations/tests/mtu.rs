//! As root: a switch between interfaces gets no frames that these do not take.

use forebay_evaluations::Evaluation;
use forebay_evaluations::updates::Foreign;
use forebay_ports::PortSpec;
use std::process::Command;

const FLOWS: &str = "[full.flows]\ntables = [{ kind = \"exact\", rules = 1 }]\nframe_bytes = [64, 2000]\nflows = 1\n\
                     seconds = 0.1\ntrial_s = 0.1\ntrials_s = 0.1\npps_max = 1000.0\n";

const UPDATES: &str = "[full.updates]\ndecisions = [\"exact\"]\nrules = [1]\nframe_bytes = [64, 2000]\nmbps = [1.0]\n\
                       controls = [\"command\"]\nrepetitions = 1\nin_a_row = 1\n";

fn ip(words: &str) -> bool {
    let run = Command::new("ip").args(words.split_whitespace()).status();
    run.is_ok_and(|status| status.success())
}

#[test]
fn frames_beyond_the_mtu_are_refused() {
    let namespace = format!("forebay-evaluations-{}", std::process::id());
    if !ip(&format!("netns add {namespace}")) {
        eprintln!("SKIPPED: this test needs root to make network namespaces");
        return;
    }
    let pair = ip(&format!("-n {namespace} link add va type veth peer name vb"));
    let mut again = Command::new("ip");
    again
        .args(["netns", "exec", &namespace])
        .arg(std::env::current_exe().expect("this test"));
    again.args(["--exact", "refused_in_a_namespace", "--ignored", "--nocapture"]);
    let is_refused = again.status().is_ok_and(|status| status.success());
    let _ = ip(&format!("netns delete {namespace}"));
    assert!(pair && is_refused);
}

/// Before an interface is opened: these have no link, which would be told then.
#[test]
#[ignore = "run by `frames_beyond_the_mtu_are_refused`"]
fn refused_in_a_namespace() {
    let interfaces = PortSpec::parse_all(["1@packet:va", "2@packet:vb"]);
    let foreign = Foreign {
        interfaces: interfaces.unwrap_or_else(|error| panic!("{error}")),
        command: "cat".to_string(),
    };
    for setting in [FLOWS, UPDATES] {
        let evaluation = Evaluation::read(&format!("title = \"t\"\nsource = \"s\"\n{setting}"));
        let evaluation = evaluation.unwrap_or_else(|problem| panic!("{problem}"));
        let refused = evaluation.run_foreign(false, "a switch", &foreign, 1, &mut |_| ());
        let said = refused.expect_err("too long");
        let expected =
            "frame_bytes has 2000, with check sequence: frames of 1996 bytes are too long for the interface va";
        assert!(said.starts_with(expected), "{said}");
    }
}
