//! Exact-match arrays against hash maps, and while they grow and shrink.

use super::*;
use std::collections::HashMap;

fn get(map: &ExactMap, domain: &Arc<Domain>, key: &[u64]) -> Option<Vec<u64>> {
    let mut reader = domain.reader();
    let pin = reader.pin();
    let value = map.find(key, hash_words(key), &pin)?;
    Some(value.iter().map(load).collect())
}

#[test]
fn buckets_fill_their_lines() {
    assert_eq!((Shape::new(1, 1).places, Shape::new(1, 1).bucket_lines), (3, 1));
    assert_eq!((Shape::new(1, 2).places, Shape::new(1, 2).bucket_lines), (5, 2));
    assert_eq!((Shape::new(5, 9).places, Shape::new(5, 9).bucket_lines), (3, 6));
}

#[test]
fn behaves_as_a_hash_map() {
    for (key_words, value_words) in [(1, 1), (2, 2), (3, 1)] {
        let domain = Domain::new();
        let (map, mut writer) = ExactMap::new(&domain, key_words, value_words);
        let mut expected = HashMap::new();
        for step in 0u64..20_000 {
            let key = vec![hash_words(&[step]) % 500; key_words];
            let value = vec![step; value_words];
            match (step % 7 < 4, expected.contains_key(&key)) {
                (true, false) => writer.insert(&map, &key, &value),
                (true, true) => writer.replace(&map, &key, &value),
                (false, true) => {
                    writer.remove(&map, &key);
                    expected.remove(&key);
                    assert_eq!(get(&map, &domain, &key), None);
                    continue;
                }
                (false, false) => continue,
            }
            expected.insert(key.clone(), value.clone());
            assert_eq!(get(&map, &domain, &key), Some(value));
            assert_eq!(writer.live, expected.len());
        }
        for key in (0..500).map(|key| vec![key; key_words]) {
            assert_eq!(get(&map, &domain, &key), expected.get(&key).cloned());
        }
    }
}

#[test]
fn memory_comes_back() {
    let domain = Domain::new();
    let (map, mut writer) = ExactMap::new(&domain, 1, 1);
    let bytes = || map.memory_bytes(&domain.reader().pin());
    let empty = bytes();
    (0..10_000).for_each(|key| writer.insert(&map, &[key], &[key]));
    let per_entry = bytes() / 10_000;
    assert!((28..64).contains(&per_entry), "{per_entry} bytes per entry");
    (0..10_000).for_each(|key| writer.remove(&map, &[key]));
    assert!(bytes() <= 8 * empty, "{} bytes", bytes());
}

#[test]
fn growing_and_shrinking_copy_a_few_buckets_with_each_entry() {
    let domain = Domain::new();
    let (map, mut writer) = ExactMap::new(&domain, 1, 2);
    let mut copied_before = 0;
    let mut advance = |writer: &ExactWriter, publishes: bool| {
        let copied = writer.next.as_ref().map_or(0, |next| next.copied);
        assert!(publishes || copied == 0 || copied <= copied_before + COPIED_AT_ONCE);
        copied_before = copied;
    };
    for key in 0..20_000 {
        let (array, publishes) = (writer.present(&map).lines.as_ptr(), writer.insertion_moves(&map));
        writer.insert(&map, &[key], &[key, key]);
        assert_eq!(writer.present(&map).lines.as_ptr() != array, publishes);
        assert!(!writer.is_littered(&map));
        advance(&writer, publishes);
    }
    for key in 0..20_000 {
        let array = writer.present(&map).lines.as_ptr();
        writer.remove(&map, &[key]);
        let publishes = writer.present(&map).lines.as_ptr() != array;
        advance(&writer, publishes);
    }
}

#[test]
fn changes_while_an_array_is_copied_are_in_the_next_one() {
    let domain = Domain::new();
    let (map, mut writer) = ExactMap::new(&domain, 1, 2);
    let mut expected = HashMap::new();
    let mut changes = 0;
    for key in 0..30_000u64 {
        writer.insert(&map, &[key], &[key, 0]);
        expected.insert(key, vec![key, 0]);
        if writer.next.is_none() {
            continue;
        }
        changes += 1;
        let old = hash_words(&[key]) % key;
        match expected.remove(&old) {
            Some(_) if key % 2 == 0 => writer.remove(&map, &[old]),
            Some(_) => {
                writer.replace(&map, &[old], &[old, key]);
                expected.insert(old, vec![old, key]);
            }
            None => {
                writer.insert(&map, &[old], &[old, 1]);
                expected.insert(old, vec![old, 1]);
            }
        }
    }
    assert!(changes > 500, "{changes}");
    writer.rebuild(&map);
    assert_eq!(writer.live, expected.len());
    assert_eq!(
        writer.present(&map).places(0..writer.present(&map).count).count(),
        expected.len()
    );
    for (key, value) in expected {
        assert_eq!(get(&map, &domain, &[key]), Some(value));
    }
}

#[test]
fn keys_in_sequence_spread() {
    let buckets = Buckets::new(Shape::new(1, 1), 1000, 1);
    let mut homes = vec![0; 1000];
    (0..2000u64).for_each(|key| homes[buckets.home(hash_words(&[key << 8]))] += 1);
    assert!(homes.iter().all(|&entries| entries < 12));
}
