//! The statements of `docs/tester.md` hold.

mod support;

use forebay_tester::results::Results;
use forebay_tester::{Session, Silent};
use support::{problems, read, simulate};

const PAGE: &str = include_str!("../../../../docs/tester.md");

/// The TOML blocks of the page.
fn blocks() -> Vec<String> {
    let blocks = PAGE.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap_or_default().to_string())
        .collect()
}

fn check(results: &Results) -> (u64, u64, u64) {
    let check = results.trials[0].streams[0].check.as_ref().expect("the file checks");
    (check.same, check.different + check.unexpected, check.expected_drops)
}

#[test]
fn the_first_test_does_what_the_tutorial_says() {
    let first = &blocks()[0];
    let found = simulate(first);
    let (path, injected) = (&found.trials[0].streams[0].paths[0], found.injected.expect("impaired"));
    assert_eq!(path.port, Some(3));
    assert!(path.latency.min_ns >= 50_000);
    assert!(
        path.lost > 0 && path.lost <= injected.lost,
        "some are lost in the warm-up, which is not measured"
    );
    assert_eq!(check(&found), (path.received, 0, 0));

    let at = first.find("[[impairment]]").expect("the impairment");
    let perfect = &first[..at];
    let found = simulate(perfect);
    assert!(
        found.trials[0].is_perfect() && found.trials[0].doubts.is_empty(),
        "{:?}",
        found.trials[0].doubts
    );

    let found = simulate(&perfect.replace("10.0.2.1", "10.1.0.1"));
    let path = &found.trials[0].streams[0].paths[0];
    assert_eq!((path.port, path.lost), (Some(2), 0));

    let found = simulate(&perfect.replace("10.0.2.1", "11.0.0.1"));
    let (same, wrong, drops) = check(&found);
    assert!((same, wrong) == (0, 0) && drops > 90_000, "{drops}");
    assert_eq!(found.trials[0].lost(), 0);
    assert_eq!(found.trials[0].drops[0].0, "ingress_drop");
}

#[test]
fn the_example_of_rfc_2544_runs() {
    let blocks = blocks();
    let at = blocks[0].find("[[impairment]]").expect("the impairment");
    let search = blocks
        .iter()
        .find(|block| block.contains("frame_bytes ="))
        .expect("the example");
    let test = read(&format!(
        "{}\n{search}",
        &blocks[0][..at].replace("duration_s = 1.0", "duration_s = 0.01")
    ));
    let mut session = Session::open(&test).expect("opens").in_simulated_time();
    let found = session.rfc2544(&mut Silent).expect("results");
    assert_eq!(found.rfc2544.len(), 2);
    assert!(
        found.rfc2544.iter().all(|size| size.throughput_pps == Some(20_000.0)),
        "{:?}",
        found.rfc2544
    );
}

#[test]
fn searches_of_the_page_can_be_read() {
    let blocks = blocks();
    let at = blocks[0].find("[[impairment]]").expect("the impairment");
    for search in blocks[1..]
        .iter()
        .filter(|block| block.trim_start().starts_with("[search]"))
    {
        let lines: String = search.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        let text = format!("{}\n{lines}", &blocks[0][..at]);
        assert_eq!(problems(&text), "");
        assert!(!read(&text).goals().expect("goals").is_empty());
    }
}
