//! Entries that packets have added: over a restart, and when another program takes the place of the present one.

use super::support::{Switch, config_of, installed};
use forebay_p4runtime::{Code, Device, Now, Output, Settings};
use forebay_pipeline::{IngressArguments, IngressPacket, LearnedEntries, NoTrace, Pipeline, Worker};
use forebay_protocol::p4::v1::Update;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SESSIONS: &str = include_str!("sessions.p4");

/// A session of user 5 by port 1, as it is read.
const OF_5: &str = r#"table_entry { table_id: $sessions
    match { field_id: 1 exact { value: "\x05" } } match { field_id: 2 exact { value: "\x01" } } "#;

fn settings(keeps_learned: bool) -> Settings {
    Settings {
        device_id: 1,
        keeps_state: true,
        keeps_learned,
        ..Settings::default()
    }
}

/// A switch with three sessions: users 5 and 6 have one, and user 5 has another.
fn with_sessions(keeps_learned: bool) -> Switch {
    let mut switch = Switch::keeping(SESSIONS, settings(keeps_learned));
    switch.pipeline = installed(&mut switch.device);
    [[5, 1], [6, 1], [5, 2]].iter().for_each(|packet| switch.packet(packet));
    assert_eq!(count(&switch), (3, 3));
    switch
}

/// Entries of both tables.
fn count(switch: &Switch) -> (usize, usize) {
    let of = |table: &str| switch.read(&format!("table_entry {{ table_id: ${table} }}")).len();
    (of("sessions"), of("answers"))
}

fn register(switch: &Switch, name: &str, index: u64) -> u64 {
    let pipeline: &Arc<Pipeline> = switch.pipeline.as_ref().expect("it runs");
    let value = pipeline.read_register(&format!("TestIngress.{name}"), index);
    value.expect("it is there").to_u64()
}

/// The switch after a restart from a snapshot, and what was kept since then.
fn restarted(switch: &Switch, snapshot: &[u8], batches: &[Vec<u8>], keeps_learned: bool) -> Switch {
    let device = Device::restore(settings(keeps_learned), snapshot, batches, Now::default());
    let mut again = Switch::empty();
    again.device = device.unwrap_or_else(|error| panic!("{error}"));
    again.pipeline = again.device.pipeline().cloned();
    again.ids = switch.ids.clone();
    again
}

#[test]
fn they_are_not_kept_unless_that_is_asked_for() {
    let switch = with_sessions(false);
    let again = restarted(&switch, &switch.device.snapshot(), &[], false);
    assert_eq!(count(&again), (0, 0));
    // Nothing of what they held is taken.
    [[5, 1], [5, 2], [6, 1], [6, 2]]
        .iter()
        .for_each(|packet| again.packet(packet));
    assert_eq!(count(&again), (4, 4));
}

#[test]
fn they_are_kept_with_what_they_hold() {
    let switch = with_sessions(true);
    let again = restarted(&switch, &switch.device.snapshot(), &[], true);
    assert_eq!(again.everything(), switch.everything());
    let snapshot = switch.device.snapshot();
    assert_eq!(again.device.snapshot(), snapshot);
    let summary = forebay_p4runtime::summary(&snapshot, &[]).unwrap().running.unwrap();
    let learned = summary.objects.iter().filter(|object| object.kind == "learned entries");
    assert_eq!(learned.map(|object| object.count).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(register(&again, "shares.taken", 5), 2);
    assert_eq!(register(&again, "numbers.counts", 2), 3);
    // User 5 has all of its shares, and one number is left.
    [[5, 3], [7, 1], [8, 1]].iter().for_each(|packet| again.packet(packet));
    assert_eq!(count(&again), (4, 4));
}

#[test]
fn their_ends_give_back_what_they_hold() {
    let switch = with_sessions(true);
    let mut again = restarted(&switch, &switch.device.snapshot(), &[], true);
    again.arbitrate(super::support::PRIMARY, "", Some(1)).unwrap();
    again.delete(&format!("{OF_5} }}"));
    assert_eq!(count(&again), (2, 2));
    assert_eq!(register(&again, "shares.taken", 5), 1);
    [[7, 1], [8, 1], [9, 1]].iter().for_each(|packet| again.packet(packet));
    assert_eq!(count(&again), (4, 4), "there are four numbers");
    // By time, too: all have it from the last packet of any on.
    again.pipeline.as_ref().unwrap().expire_at(90_000_000_000);
    assert_eq!(count(&again), (0, 0));
    assert_eq!(register(&again, "numbers.counts", 2), 0);
}

#[test]
fn what_controllers_did_to_them_is_done_again() {
    for keeps_learned in [false, true] {
        let mut switch = with_sessions(keeps_learned);
        let snapshot = switch.device.snapshot();
        switch.packet(&[7, 1]);
        let changed = format!(
            "{OF_5} action {{ action {{ action_id: $translate params {{ param_id: 1 value: \"\\x63\" }} }} }} }}"
        );
        let of_7 = OF_5.replace("\\x05", "\\x07") + "}";
        // One that the snapshot has, and one that came later.
        let updates = vec![
            switch.update(Type::Modify, &changed),
            switch.update(Type::Delete, &of_7),
        ];
        switch.batch(Atomicity::ContinueOnError, updates).unwrap();
        switch.packet(&[7, 1]);
        let kept = switch
            .device
            .take_outputs()
            .into_iter()
            .filter_map(|output| match output {
                Output::Keep(batch) => Some(batch),
                _ => None,
            });
        let batches: Vec<_> = kept.collect();
        assert_eq!(batches.len(), 1);
        let again = restarted(&switch, &snapshot, &batches, keeps_learned);
        again.expect(&format!("{OF_5} }}"), &[&changed]);
        let expected = if keeps_learned { (3, 3) } else { (1, 0) };
        assert_eq!(count(&again), expected);
        // From now on the entry is the controller's. The other one of the pair has the number.
        if keeps_learned {
            let mut kept = restarted(&switch, &again.device.snapshot(), &[], true);
            assert_eq!(register(&kept, "numbers.counts", 2), 3);
            kept.arbitrate(super::support::PRIMARY, "", Some(1)).unwrap();
            kept.delete(&format!("{OF_5} }}"));
            assert_eq!(count(&kept), (2, 2), "they end together");
            assert_eq!(register(&kept, "numbers.counts", 2), 2);
        }
        let once_more = restarted(&switch, &again.device.snapshot(), &[], false);
        once_more.expect("table_entry { table_id: $sessions }", &[&changed]);
    }
}

/// Both entries of each pair are the controller's, and the numbers are theirs as before.
#[test]
fn pairs_that_controllers_have_changed_stay_pairs() {
    [false, true].into_iter().for_each(changed_pairs_stay_pairs);
}

fn changed_pairs_stay_pairs(keeps_learned: bool) {
    let mut switch = with_sessions(keeps_learned);
    let found = ["sessions", "answers"].map(|table| switch.read(&format!("table_entry {{ table_id: ${table} }}")));
    for mut entity in found.concat() {
        if let Some(Kind::TableEntry(entry)) = &mut entity.entity {
            // The table has none that a controller could write.
            entry.idle_timeout_ns = 0;
        }
        let update = Update {
            r#type: Type::Modify as i32,
            entity: Some(entity),
        };
        switch.batch(Atomicity::ContinueOnError, vec![update]).unwrap();
    }
    assert_eq!(register(&switch, "numbers.counts", 2), 3);
    let mut again = restarted(&switch, &switch.device.snapshot(), &[], keeps_learned);
    assert_eq!(count(&again), (3, 3));
    assert_eq!(register(&again, "numbers.counts", 2), 3);
    again.arbitrate(super::support::PRIMARY, "", Some(1)).unwrap();
    again.delete(&format!("{OF_5} }}"));
    assert_eq!(count(&again), (2, 2));
    assert_eq!(register(&again, "numbers.counts", 2), 2);
}

/// Packets give an entry of a controller a time-out, in a table where no controller can.
#[test]
fn a_time_out_from_packets_is_kept_with_the_controllers_entry() {
    let source = SESSIONS.replace(
        "hdr.input.user = user;",
        "hdr.input.user = user; set_entry_expire_time(8w0);",
    );
    let mut switch = Switch::keeping(&source, settings(false));
    switch.pipeline = installed(&mut switch.device);
    let entry = r#"table_entry { table_id: $answers match { field_id: 1 exact { value: "\x09" } }
        action { action { action_id: $back params { param_id: 1 value: "\x05" } } } "#;
    switch.insert(&format!("{entry} }}"));
    switch.packet(&[9, 0]);
    let timed = format!("{entry} idle_timeout_ns: 60000000000 }}");
    switch.expect("table_entry { table_id: $answers }", &[&timed]);
    let again = restarted(&switch, &switch.device.snapshot(), &[], false);
    again.expect("table_entry { table_id: $answers }", &[&timed]);
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(&source)))
        .unwrap();
    switch.expect("table_entry { table_id: $answers }", &[&timed]);
    // What is read can be written, but nothing else.
    switch.modify(&timed);
    switch.expect("table_entry { table_id: $answers }", &[&timed]);
    let longer = timed.replace("60000000000", "70000000000");
    switch.refuse_modify(&longer, (Code::InvalidArgument, "has no idle time-outs"));
}

#[test]
fn another_program_takes_over_those_that_it_has_a_place_for() {
    let mut switch = with_sessions(false);
    let before = switch.everything();
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(SESSIONS)))
        .unwrap();
    switch.pipeline = installed(&mut switch.device);
    assert_eq!(switch.everything(), before);
    switch.packet(&[7, 1]);
    switch.packet(&[8, 1]);
    assert_eq!(count(&switch), (4, 4));
    // Numbers from 2 on are not of a smaller pool.
    let smaller = SESSIONS.replace("NumberPool(4)", "NumberPool(2)");
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(&smaller)))
        .unwrap();
    switch.pipeline = installed(&mut switch.device);
    assert_eq!(count(&switch), (2, 2));
    assert_eq!(register(&switch, "numbers.counts", 2), 2);
}

/// The program with room for many sessions.
fn roomy(numbers: u32) -> String {
    SESSIONS
        .replace("NumberPool(4)", &format!("NumberPool({numbers})"))
        .replace("hdr.input.user, 2)", "hdr.input.user, 255)")
        .replace("add_on_miss = true;", "add_on_miss = true; size = 4000;")
}

fn open_session(worker: &mut Worker, user: u8, port: u8, timestamp_us: u64) {
    let arguments = IngressArguments {
        timestamp_us,
        ..IngressArguments::default()
    };
    let packet = IngressPacket::new(vec![user, port], arguments);
    worker.ingress(&mut vec![packet], &mut Vec::new(), &mut NoTrace);
}

/// More entries than are read under the lock at once.
#[test]
fn many_are_read_kept_and_removed() {
    let mut switch = Switch::keeping(&roomy(4000), settings(true));
    switch.pipeline = installed(&mut switch.device);
    let mut worker = Worker::new(Arc::clone(switch.pipeline.as_ref().unwrap()));
    for (user, port) in (0..4).flat_map(|user| (1..=200).map(move |port| (user, port))) {
        open_session(&mut worker, user, port, 0);
    }
    for user in 0..3 {
        let of_user = OF_5.replace("\\x05", &format!("\\x0{user}"));
        switch.delete(&format!("{of_user} }}"));
    }
    let (sessions, answers) = (797, 797);
    assert_eq!(count(&switch), (sessions, answers));
    let again = restarted(&switch, &switch.device.snapshot(), &[], true);
    assert_eq!(again.everything(), switch.everything());
    switch.running().clear_entries("answers").unwrap();
    assert_eq!(count(&switch), (0, 0));
    assert_eq!(register(&switch, "numbers.counts", 2), 0);
}

/// What is kept is of one moment, although packets add entries and entries end meanwhile: no key and no number occurs
/// twice, so that nothing is refused when it is added again.
#[test]
fn those_that_are_kept_did_exist_together() {
    let mut switch = Switch::keeping(&roomy(700), settings(true));
    let pipeline = installed(&mut switch.device).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut worker = Worker::new(Arc::clone(&pipeline));
            let sessions = (0..8).flat_map(|_| (0..5).flat_map(|user| (1..=250).map(move |port| (user, port))));
            for ((user, port), number) in sessions.zip(0..) {
                open_session(&mut worker, user, port, number * 90_000);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut most = 0;
        while !is_over.load(Ordering::Relaxed) {
            let learned = pipeline.learned();
            most = most.max(learned.len());
            assert_distinct(&learned);
        }
        assert!(most > 300, "at most {most} at a time");
    });
}

fn assert_distinct(learned: &[LearnedEntries]) {
    let mut keys = HashSet::new();
    let mut numbers = HashSet::new();
    for group in learned {
        assert_eq!((group.entries.len(), group.held.len()), (2, 2));
        for entry in &group.entries {
            assert!(keys.insert((entry.table, entry.key.clone())), "{entry:?} occurs twice");
        }
        // The entry for answers has the number alone as its key. The other thing held is a share of the user's.
        let mut answers = group.entries.iter().filter(|entry| entry.key.len() == 1);
        let number = answers.next().expect("there is one of each table").key[0].to_u64();
        assert!(group.held.iter().any(|held| u64::from(held.number) == number));
        assert!(numbers.insert(number), "{number} occurs twice");
    }
}
