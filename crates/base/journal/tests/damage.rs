//! Folders that were damaged in every way: what is loaded is what was kept, or nothing.

use forebay_journal::{Recovered, StateError, Store, Sync};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SNAPSHOT: &[u8] = b"all of the state";
const BATCHES: [&[u8]; 4] = [
    b"first",
    b"",
    b"third, which is longer than the others",
    b"\0\0\0\0\0\0",
];

/// A folder with a snapshot and four batches.
fn kept() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, found) = Store::open(folder.path(), Sync::System).unwrap();
    assert_eq!(found, None);
    store.snapshot(SNAPSHOT).unwrap();
    for batch in BATCHES {
        store.append(batch).unwrap();
    }
    folder
}

fn open(folder: &Path) -> Result<Recovered, StateError> {
    Store::open(folder, Sync::System).map(|(_, found)| found.expect("there is a snapshot"))
}

fn file(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

const LOG: &str = "log-00000001";
const FIRST: &str = "snapshot-00000001";

#[test]
fn bytes_behind_a_state_make_no_other_state() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path(), Sync::System).unwrap();
    store.snapshot_with(SNAPSHOT, b" at 1").unwrap();
    store.snapshot_with(SNAPSHOT, b" at 2").unwrap();
    assert_eq!(names(&folder), ["lock", LOG, FIRST]);
    store.append(b"first").unwrap();
    store.snapshot_with(SNAPSHOT, b" at 3").unwrap();
    drop(store);
    let found = open(folder.path()).unwrap();
    assert_eq!(found.snapshot, b"all of the state at 3");
    assert!(found.batches.is_empty());
}

#[test]
fn a_folder_whose_process_is_being_cleared_away_is_waited_for() {
    let folder = kept();
    let (store, _) = Store::open(folder.path(), Sync::System).unwrap();
    let cleared_away = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(store);
    });
    assert_eq!(open(folder.path()).unwrap().snapshot, SNAPSHOT);
    cleared_away.join().unwrap();
}

#[test]
fn what_was_kept_is_there() {
    let folder = kept();
    for _ in 0..2 {
        let found = open(folder.path()).unwrap();
        assert_eq!(found.snapshot, SNAPSHOT);
        assert_eq!(found.batches, BATCHES);
        assert_eq!(found.cut, None);
    }
    let (mut store, _) = Store::open(folder.path(), Sync::Disk).unwrap();
    store.append(b"fifth").unwrap();
    store.snapshot(b"later").unwrap();
    store.append(b"after").unwrap();
    drop(store);
    assert_eq!(names(&folder), ["lock", "log-00000005", "snapshot-00000005"]);
    let found = open(folder.path()).unwrap();
    assert_eq!(
        (found.snapshot, found.batches),
        (b"later".to_vec(), vec![b"after".to_vec()])
    );
    assert_eq!(names(&folder), ["lock", "log-00000006", "snapshot-00000006"]);
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_has_one_user() {
    let folder = kept();
    let (_store, _) = Store::open(folder.path(), Sync::System).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("used by a switch that runs"), "{error}");
}

#[test]
fn what_was_never_finished_is_passed_over() {
    let folder = kept();
    fs::write(file(&folder, "snapshot-00000002.tmp"), b"half").unwrap();
    fs::write(file(&folder, "log-00000002.tmp"), b"half").unwrap();
    assert_eq!(open(folder.path()).unwrap().batches, BATCHES);
    assert!(!file(&folder, "snapshot-00000002.tmp").exists());
}

/// Every byte, changed in every way that one bit can be.
#[test]
fn no_changed_byte_goes_unseen() {
    for name in [FIRST, LOG] {
        let folder = kept();
        let whole = fs::read(file(&folder, name)).unwrap();
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[place] ^= 1 << bit;
                fs::write(file(&folder, name), &changed).unwrap();
                let error = open(folder.path()).expect_err("damage was not seen");
                let StateError::Damaged { path, offset, .. } = &error else {
                    panic!("{error}")
                };
                assert_eq!(*path, file(&folder, name));
                assert!(*offset <= place as u64, "{error} for {place}");
                assert_eq!(fs::read(file(&folder, name)).unwrap(), changed, "nothing is mended");
            }
        }
    }
}

/// A log that ends anywhere after its header is read up to its last complete batch, and goes on from there.
#[test]
fn logs_that_end_early() {
    let kept = kept();
    let whole = fs::read(file(&kept, LOG)).unwrap();
    for length in 0..whole.len() {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(file(&kept, FIRST), file(&folder, FIRST)).unwrap();
        fs::write(file(&folder, LOG), &whole[..length]).unwrap();
        if length < 24 {
            assert!(matches!(open(folder.path()), Err(StateError::Damaged { .. })));
            continue;
        }
        let (mut store, found) = Store::open(folder.path(), Sync::System).unwrap();
        let found = found.unwrap();
        let complete = found.batches.len();
        assert_eq!(found.batches, BATCHES[..complete]);
        let whole_bytes = found.cut.map_or(length, |cut| (cut.offset + cut.bytes) as usize);
        assert_eq!(whole_bytes, length);
        store.append(b"goes on").unwrap();
        drop(store);
        let found = open(folder.path()).unwrap();
        assert_eq!(found.cut, None);
        assert_eq!(found.batches.len(), complete + 1);
        assert_eq!(found.batches[complete], b"goes on");
    }
}

#[test]
fn snapshots_that_end_early() {
    let folder = kept();
    let whole = fs::read(file(&folder, FIRST)).unwrap();
    for length in 0..whole.len() {
        fs::write(file(&folder, FIRST), &whole[..length]).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(error.to_string().contains(FIRST), "{error}");
    }
}

/// A power failure: the file is as long as it should be, and sectors of the last batch were never written.
#[test]
fn sectors_that_were_never_written() {
    let kept = kept();
    let (mut store, _) = Store::open(kept.path(), Sync::System).unwrap();
    store.append(&[7; 5000]).unwrap();
    drop(store);
    let whole = fs::read(file(&kept, "log-00000002")).unwrap();
    for sector in 1..=whole.len() / 512 {
        let folder = tempfile::tempdir().unwrap();
        let mut torn = whole.clone();
        torn[sector * 512..((sector + 1) * 512).min(whole.len())].fill(0);
        fs::copy(file(&kept, "snapshot-00000002"), file(&folder, "snapshot-00000002")).unwrap();
        fs::write(file(&folder, "log-00000002"), &torn).unwrap();
        let found = open(folder.path()).unwrap();
        assert_eq!(found.batches, BATCHES);
        assert!(found.cut.is_some());
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    for (removed, beside) in [(FIRST, LOG), (LOG, FIRST)] {
        let folder = kept();
        fs::remove_file(file(&folder, removed)).unwrap();
        for _ in 0..2 {
            let error = open(folder.path()).unwrap_err().to_string();
            assert!(
                error.contains(&format!("{removed} is missing, although {beside} is there")),
                "{error}"
            );
            assert!(error.contains("forebay state repair"), "{error}");
        }
        assert!(file(&folder, beside).exists());
    }
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = kept();
    let others = [
        "snapshot-abc",
        "snapshot-1",
        "log-00000001.bak",
        "snapshot-00000000x",
        "notes.txt",
        "log-",
    ];
    others
        .iter()
        .for_each(|name| fs::write(file(&folder, name), b"mine").unwrap());
    let (mut store, _) = Store::open(folder.path(), Sync::System).unwrap();
    store.snapshot(b"another").unwrap();
    store.snapshot(b"and another").unwrap();
    for name in others {
        assert_eq!(fs::read(file(&folder, name)).unwrap(), b"mine", "{name}");
    }
    assert!(!file(&folder, FIRST).exists());
}

#[test]
fn files_are_for_their_owner_alone() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("a/b");
    let (mut store, _) = Store::open(&folder, Sync::System).unwrap();
    store.snapshot(SNAPSHOT).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

/// However the files go: what is acknowledged afterwards is there.
#[test]
fn files_that_vanish_while_they_are_used() {
    let removals: [fn(&Path); 5] = [
        |folder| fs::remove_dir_all(folder).unwrap(),
        |folder| fs::rename(folder, folder.with_extension("moved")).unwrap(),
        |folder| fs::remove_file(folder.join(LOG)).unwrap(),
        |folder| fs::remove_file(folder.join(FIRST)).unwrap(),
        |folder| {
            let bytes = fs::read(folder.join(LOG)).unwrap();
            fs::remove_file(folder.join(LOG)).unwrap();
            fs::write(folder.join(LOG), bytes).unwrap();
        },
    ];
    for remove in removals {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("state");
        let (mut store, _) = Store::open(&folder, Sync::System).unwrap();
        store.snapshot(b"1").unwrap();
        store.append(b"2").unwrap();
        remove(&folder);
        let error = store.append(b"3").unwrap_err();
        assert!(matches!(error, StateError::Gone(_)), "{error}");
        assert!(!store.takes_batches());
        assert!(matches!(store.append(b"4"), Err(StateError::Behind(_))));
        store.snapshot(b"123").unwrap();
        store.append(b"5").unwrap();
        let error = open(&folder).unwrap_err();
        assert!(
            matches!(error, StateError::InUse(_)),
            "the new folder is locked too: {error}"
        );
        drop(store);
        let found = open(&folder).unwrap();
        assert_eq!((found.snapshot, found.batches), (b"123".to_vec(), vec![b"5".to_vec()]));
    }
}

/// A snapshot that is the same as the last one is not written again, unless its files are gone.
#[test]
fn the_same_snapshot_after_its_files_went() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("state");
    let (mut store, _) = Store::open(&folder, Sync::System).unwrap();
    store.snapshot(SNAPSHOT).unwrap();
    store.snapshot(SNAPSHOT).unwrap();
    assert!(folder.join(FIRST).exists());
    fs::remove_dir_all(&folder).unwrap();
    store.snapshot(SNAPSHOT).unwrap();
    drop(store);
    assert_eq!(open(&folder).unwrap().snapshot, SNAPSHOT);
}

/// The first version of the format: lengths of 32 bits.
#[test]
fn files_of_the_first_version() {
    let header = |magic: &[u8; 8]| {
        let mut bytes = magic.to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    };
    let record = |number: u32, content: &[u8]| {
        let length = (content.len() as u32).to_le_bytes();
        let head = crc32fast::hash(&[length, number.to_le_bytes()].concat()).to_le_bytes();
        [&length[..], &head, content, &crc32fast::hash(content).to_le_bytes()].concat()
    };
    let folder = tempfile::tempdir().unwrap();
    let snapshot = [header(b"forebayS"), record(0, SNAPSHOT)].concat();
    let log = [header(b"forebayL"), record(0, b"first"), record(1, b"second")].concat();
    fs::write(file(&folder, FIRST), snapshot).unwrap();
    fs::write(file(&folder, LOG), log).unwrap();
    let (mut store, found) = Store::open(folder.path(), Sync::Disk).unwrap();
    let found = found.unwrap();
    assert_eq!((&found.snapshot[..], found.batches.len()), (SNAPSHOT, 2));
    store.append(b"third").unwrap();
    drop(store);
    let found = open(folder.path()).unwrap();
    assert_eq!((&found.snapshot[..], &found.batches[2][..]), (SNAPSHOT, &b"third"[..]));
}

proptest! {
    /// Whatever batches: what is read is what was written, in front of any torn end.
    #[test]
    fn any_batches(batches in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8), tail in 1_usize..12) {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(folder.path(), Sync::System).unwrap();
        store.snapshot(b"").unwrap();
        for batch in &batches {
            store.append(batch).unwrap();
        }
        drop(store);
        let whole = fs::read(file(&folder, LOG)).unwrap();
        let cut = whole.len().saturating_sub(tail).max(24);
        fs::write(file(&folder, LOG), &whole[..cut]).unwrap();
        let found = open(folder.path()).unwrap();
        let lost = usize::from(cut < whole.len());
        prop_assert_eq!(&found.batches[..], &batches[..batches.len() - lost]);
    }
}
