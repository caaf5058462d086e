//! Sessions after a restart.

use super::*;

#[test]
fn a_restart_changes_nothing() {
    let mut bench = Bench::associated();
    let first = bench.session(1);
    let snapshot = bench.node.save();
    bench.node.save_changes();
    let second = bench.session(2);
    bench.modify(first, |request| update_far(request, 12, 0x2005, 0));
    let batches: Vec<Vec<u8>> = bench.node.save_changes().into_iter().collect();
    assert_eq!(bench.node.save_changes(), None);
    let mut node = Node::new(Settings {
        recovery: 1,
        ..settings()
    });
    node.restore(&snapshot, &batches).expect("what was saved");
    assert_eq!(node.settings.recovery, settings().recovery, "no peer sees a restart");
    for seid in [first, second] {
        assert_eq!(node.session(seid), bench.node.session(seid));
    }
    bench.node = node;
    let third = bench.session(3);
    assert!(![first, second].contains(&third));
    let numbers: HashSet<u32> = bench
        .node
        .sessions()
        .flat_map(|session| session.fars.values().map(|far: &Far| far.number))
        .collect();
    assert_eq!(numbers.len(), 6, "no number is given twice");
    for length in 0..snapshot.len() {
        let _ = Node::new(settings()).restore(&snapshot[..length], &[]);
    }
}
