//! A few random programs; `cargo run --release -p forebay-differential` tries as many as there is time for.

use forebay_differential::{compare, compare_text};

/// So many programs.
const PROGRAMS: u64 = 60;

#[test]
fn executors_agree_on_random_programs() {
    let (mut sent, mut short, mut spread) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        let compared = compare(seed, 3).unwrap_or_else(|difference| panic!("{difference}"));
        sent += compared.packets_out;
        short += u64::from(compared.has_fast_path);
        spread += u64::from(compared.spread);
    }
    assert!(
        sent > 2 * PROGRAMS,
        "programs drop nearly everything: {sent} packets left"
    );
    assert!(5 * short > PROGRAMS, "only {short} of {PROGRAMS} have specialised code");
    assert!(
        5 * spread > PROGRAMS,
        "only {spread} of {PROGRAMS} went to several workers"
    );
}

/// In this PSA program, a packet that the parser rejects stops in general code to be cloned, while clones of earlier
/// packets of its burst are still to be executed.
#[test]
fn clones_of_a_burst_do_not_disturb_a_packet_that_has_stopped() {
    let text = include_str!("programs/stopped_packet.p4");
    compare_text(91_387, text, 0, 1).unwrap_or_else(|difference| panic!("{difference}"));
}
