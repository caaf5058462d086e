//! What reports say, and what they must not.

mod support;

use forebay_tester::histogram::{Distribution, Histogram};
use forebay_tester::report::{self, difference::Difference};
use forebay_tester::results::PathResults;
use forebay_tester::{Results, Session, Silent};
use support::simulate;

/// Three trials of a wire.
fn wire() -> Results {
    simulate(
        "description = \"a wire\"\nseed = 3\nduration_s = 0.05\ntrials = 3\nsample_s = 0.01\n[device]\nwire = true\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\npps = 100_000\nframe = { udp = { bytes = 60 } }\n\
         [[impairment]]\nport = 2\ndelay = { exponential_us = 20 }\n",
    )
}

fn paths(results: &mut Results) -> Vec<&mut PathResults> {
    let streams = results.trials.iter_mut().flat_map(|trial| &mut trial.streams);
    streams.flat_map(|stream| &mut stream.paths).collect()
}

fn difference(before: &Results, after: &Results, quantity: &str) -> Difference {
    let all = report::compare::differences(before, after);
    let found = all.into_iter().find(|found| found.quantity.name == quantity);
    found.expect("compared")
}

/// All other figures are of the measured time.
#[test]
fn drops_of_the_warm_up_are_said_to_be_included() {
    let mut found = wire();
    found.trials[0].drops = vec![("queue_full".to_string(), 3)];
    assert!(report::text(&found).contains("dropped by the device: queue_full 3"));
    found.trials[0].warm_up_s = Some(0.1);
    assert!(report::text(&found).contains("dropped by the device, warm-up included: queue_full 3"));
}

/// A test that passes because nothing was sent would pass for ever.
#[test]
fn a_trial_in_which_no_frame_was_due_shows_nothing() {
    let stream = |name: &str, rate: &str| {
        format!("[[traffic]]\nname = \"{name}\"\nfrom = 1\nto = 2\n{rate}\nframe = {{ udp = {{ bytes = 60 }} }}\n")
    };
    let trial = |streams: &[String]| {
        let text = "description = \"a wire\"\nduration_s = 0.05\n[device]\nwire = true\n".to_string();
        simulate(&(text + &streams.concat())).trials.remove(0)
    };
    let (busy, rare) = (stream("busy", "pps = 1000"), stream("rare", "pps = 0.1"));
    let later = stream("later", "pps = 1000\nshape = { steps = [[0, 0], [10, 1]] }");
    let doubt = |name: &str| format!("{name}: no frame was due in the measured time, so nothing is known of it");
    let alone = trial(std::slice::from_ref(&later));
    assert_eq!((alone.sent(), alone.is_perfect()), (0, false));
    assert_eq!(alone.doubts, [doubt("later")]);
    assert!(!trial(&[busy.clone(), later]).is_perfect());
    // Of a rare stream a short trial may have no frame.
    let both = trial(&[busy, rare]);
    assert!(both.is_perfect());
    assert_eq!(both.doubts, [doubt("rare")]);
}

/// A trial all of whose frames the machine disturbed has no latency of 0 ns: it has none.
#[test]
fn trials_without_undisturbed_frames_have_no_latency_to_compare() {
    const MEDIAN: &str = "latency 50 % (ns)";
    let before = wire();
    let mut after = before.clone();
    paths(&mut after)[1].latency = Distribution::default();
    let found = difference(&before, &after, MEDIAN);
    let (old, new) = (found.before.expect("three trials"), found.after.expect("two"));
    assert!((new / old - 1.0).abs() < 0.1 && !found.between_trials, "{found:?}");

    paths(&mut after)
        .into_iter()
        .for_each(|path| path.latency = Distribution::default());
    let found = difference(&before, &after, MEDIAN);
    assert_eq!((found.after, found.interval), (None, None));
    assert!(found.before.is_some() && !found.is_significant());
    let table = report::difference::table(&report::compare::differences(&before, &after));
    assert!(table.contains("not known: no frame came undisturbed after"), "{table}");
    assert!(!table.contains("-100.0 %"), "{table}");
}

/// The interval is around the difference that is shown, that of the means, not around that of the first trials.
#[test]
fn the_interval_of_two_trials_is_around_their_mean() {
    let (mut before, mut after) = (wire(), wire());
    before.trials.truncate(2);
    after.trials.truncate(1);
    for (path, ratio) in paths(&mut before).into_iter().zip([0.0, 0.2]) {
        path.loss_ratio = ratio;
    }
    paths(&mut after)[0].loss_ratio = 0.1;
    let found = difference(&before, &after, "loss ratio");
    let (low, high) = found.interval.expect("frames were due");
    assert!(low < 0.0 && 0.0 < high && !found.is_significant(), "{found:?}");
}

/// Of frames that were not due none are lost, and none are known to be kept.
#[test]
fn a_path_without_frames_has_no_loss_ratio_to_compare() {
    let before = wire();
    let mut after = before.clone();
    paths(&mut after).into_iter().for_each(|path| path.expected = 0);
    assert_eq!(difference(&before, &after, "loss ratio").after, None);
}

/// Where nothing comes back there is no table of latencies, and no header of one.
#[test]
fn a_stream_that_does_not_come_back_has_no_table() {
    let mut found = wire();
    for path in paths(&mut found) {
        path.received = 0;
        for distribution in [
            &mut path.latency,
            &mut path.latency_all,
            &mut path.device_latency,
            &mut path.delay_variation,
            &mut path.inter_arrival,
        ] {
            *distribution = Distribution::default();
        }
    }
    let text = report::text(&found);
    assert!(text.contains("no frame came, so there is no latency"), "{text}");
    assert!(!text.contains("99.9 %  "), "{text}");
}

/// A row that is missing would look like a measure that does not exist.
#[test]
fn the_row_of_intended_times_says_why_it_is_empty() {
    let mut found = wire();
    paths(&mut found)
        .into_iter()
        .for_each(|path| path.latency = Distribution::default());
    let text = report::text(&found);
    let row = "latency from intended time    none: the machine disturbed every frame";
    assert!(text.contains(row) && text.contains("with disturbed frames"), "{text}");
}

/// The last sample is shorter than the others, or holds only what came after the end.
#[test]
fn rates_end_with_the_last_whole_sample() {
    let found = simulate(
        "description = \"a wire\"\nduration_s = 0.05\nwarm_up_s = 0.01\nsample_s = 0.02\n[device]\nwire = true\n\
         [[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\npps = 100_000\nframe = { udp = { bytes = 60 } }\n\
         [[impairment]]\nport = 2\ndelay = { constant_us = 30_000 }\n",
    );
    let trial = &found.trials[0];
    let stream = &trial.streams[0];
    assert!(stream.samples.len() > 3, "{:?}", stream.samples);
    assert_eq!(trial.whole_samples(stream), 3, "60 ms of sending");
    let charts = report::charts(&found);
    let (_, rates) = charts
        .iter()
        .find(|(name, _)| name.starts_with("rates"))
        .expect("a chart");
    assert!(rates.series.iter().all(|series| series.points.len() == 3));
    assert!(rates.series[0].points.iter().all(|point| point.y == 100.0), "{rates:?}");
    assert_eq!(rates.y_label, "rate (kpps)");
}

/// A stream that was renamed, or comes out by another port, is not passed over.
#[test]
fn what_one_of_two_results_has_alone_is_named() {
    let streams = |second: &str| {
        let stream = |name: &str| {
            format!(
                "[[traffic]]\nname = \"{name}\"\nfrom = 1\nto = 2\npps = 10_000\nframe = {{ udp = {{ bytes = 60 }} }}\n"
            )
        };
        simulate(&format!(
            "description = \"a wire\"\nduration_s = 0.01\n[device]\nwire = true\n{}{}",
            stream("a"),
            stream(second)
        ))
    };
    let table = |before: &str, after: &str| {
        report::difference::table(&report::compare::differences(&streams(before), &streams(after)))
    };
    let shown = table("b", "c");
    assert!(
        shown.contains("b, port 2: only in the result before\nc, port 2: only in the result after\n"),
        "{shown}"
    );
    assert!(!table("b", "b").contains("only in"));
    assert!(
        report::compare::differences(&wire(), &streams("b"))[0]
            .only_in
            .is_none()
    );
}

/// Half of the frames take 1 µs, half 9 µs, and none takes 5.
#[test]
fn a_distribution_is_level_where_it_has_no_values() {
    let mut latency = Histogram::default();
    latency.record_many(1_000, 50);
    latency.record_many(9_000, 50);
    let mut found = wire();
    paths(&mut found)
        .into_iter()
        .for_each(|path| path.latency = latency.summary());
    let charts = report::charts(&found);
    let (_, chart) = charts.iter().find(|(name, _)| name == "latency 1").expect("a chart");
    let points: Vec<(f64, f64)> = chart.series[0].points.iter().map(|point| (point.x, point.y)).collect();
    assert_eq!(points[0], (1.0, 0.0));
    assert_eq!(points[points.len() - 1], (9.0, 100.0));
    let between = points.iter().filter(|(x, _)| (1.1..8.9).contains(x)).count();
    assert_eq!(between, 0, "{points:?}");
    assert!(points[1..3].iter().all(|(_, y)| *y == 50.0), "{points:?}");
}

/// Lines wrap, headings are sentences, and latencies that lie powers of ten apart have an axis for that.
#[test]
fn a_page_is_read_without_scrolling() {
    let html = report::html(&wire());
    assert!(html.contains("white-space:pre-wrap") && !html.contains("pre{background:#f6f6f6;padding:1rem;overflow-x"));
    assert!(
        html.contains("@media (max-width:60rem){pre{white-space:pre;overflow-x:auto}}"),
        "columns stay columns in a narrow window"
    );
    assert!(
        html.contains("<h2>Latency from the intended time,") && !html.contains("<h2>latency 1"),
        "{html}"
    );
    let charts = report::charts(&wire());
    let (_, latency) = charts.iter().find(|(name, _)| name == "latency 1").expect("a chart");
    assert_eq!(latency.x_axis, forebay_sim::plot::Axis::Logarithmic);
}

/// Trials of a search that take less than a second in all have a time, too.
#[test]
fn the_time_of_a_search_is_said_in_its_unit() {
    let test = support::read(
        "description = \"a wire\"\nduration_s = 0.05\n[device]\nwire = true\n[[traffic]]\nname = \"a\"\nfrom = 1\nto = 2\npps = 100_000\n\
         frame = { udp = { bytes = 60 } }\n[search]\ngoals = [\"ndr\"]\nduration_scale = 0.001\n",
    );
    let mut session = Session::open(&test).expect("a wire").in_simulated_time();
    let found = session.search(&mut Silent).expect("results");
    let text = report::text(&found);
    assert!(
        !text.contains("of 0.0 s in all") && text.contains(" ms in all"),
        "{text}"
    );
}
