//! The publication protocol under every interleaving: `RUSTFLAGS="--cfg loom" cargo test -p forebay-tables --lib`.

use super::*;

/// The value of key 1, read as a packet would; its words must belong together.
fn read(map: &ExactMap, domain: &Arc<Domain>) -> Option<u64> {
    let mut reader = domain.reader();
    let pin = reader.pin();
    let value = map.find(&[1], hash_words(&[1]), &pin)?;
    let (first, second) = (load(&value[0]), load(&value[1]));
    assert_eq!(first, second, "half an entry");
    Some(first)
}

/// Runs `write` concurrently with a reader, and passes what the reader saw to `legal`.
fn check(write: fn(&ExactMap, &mut ExactWriter), legal: fn(Option<u64>) -> bool) {
    loom::model(move || {
        let domain = Domain::new();
        let (map, mut writer) = ExactMap::new(&domain, 1, 2);
        writer.insert(&map, &[1], &[10, 10]);
        let map = Arc::new(map);
        let (its_map, its_domain) = (Arc::clone(&map), Arc::clone(&domain));
        let reader = loom::thread::spawn(move || read(&its_map, &its_domain));
        write(&map, &mut writer);
        assert!(legal(reader.join().unwrap()));
    });
}

#[test]
fn a_replaced_value_is_the_old_or_the_new_one() {
    check(
        |map, writer| {
            writer.replace(map, &[1], &[20, 20]);
            writer.replace(map, &[1], &[30, 30]);
        },
        |seen| matches!(seen, Some(10 | 20 | 30)),
    );
}

#[test]
fn a_place_that_is_used_again_is_never_seen_half_written() {
    check(
        |map, writer| {
            writer.remove(map, &[1]);
            writer.insert(map, &[1], &[20, 20]);
        },
        |seen| matches!(seen, None | Some(10 | 20)),
    );
}

#[test]
fn an_array_that_is_replaced_is_freed_after_its_readers() {
    check(
        |map, writer| {
            writer.rebuild(map);
            writer.collect(map);
        },
        |seen| seen == Some(10),
    );
}
