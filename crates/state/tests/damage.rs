//! Folders that were damaged in every way: what is loaded is what was kept, or nothing.

use forebay_state::{Recovered, StateError, Store, Sync};
use proptest::prelude::*;
use std::fs;
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
    let found = open(folder.path()).unwrap();
    assert_eq!(
        (found.snapshot, found.batches),
        (b"later".to_vec(), vec![b"after".to_vec()])
    );
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["lock", "log-00000002", "snapshot-00000002"]);
}

#[test]
fn a_folder_has_one_user() {
    let folder = kept();
    let (_store, _) = Store::open(folder.path(), Sync::System).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("used by another switch"), "{error}");
}

#[test]
fn what_was_never_finished_is_passed_over() {
    let folder = kept();
    fs::write(file(&folder, "snapshot-00000002.tmp"), b"half").unwrap();
    fs::write(file(&folder, "log-00000002"), b"half").unwrap();
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

/// A log that ends anywhere behind its header is read up to its last complete batch, and goes on from there.
#[test]
fn logs_that_end_early() {
    let folder = kept();
    let whole = fs::read(file(&folder, LOG)).unwrap();
    for length in 0..whole.len() {
        fs::write(file(&folder, LOG), &whole[..length]).unwrap();
        if length < 24 {
            assert!(matches!(open(folder.path()), Err(StateError::Damaged { .. })));
            continue;
        }
        let (mut store, found) = Store::open(folder.path(), Sync::System).unwrap();
        let found = found.unwrap();
        let complete = found.batches.len();
        assert_eq!(found.batches, BATCHES[..complete]);
        let is_clean = fs::read(file(&folder, LOG)).unwrap().len() == length;
        assert_eq!(found.cut.is_none(), is_clean, "{length}");
        store.append(b"goes on").unwrap();
        drop(store);
        let found = open(folder.path()).unwrap();
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
    let folder = kept();
    let (mut store, _) = Store::open(folder.path(), Sync::System).unwrap();
    store.append(&[7; 5000]).unwrap();
    drop(store);
    let whole = fs::read(file(&folder, LOG)).unwrap();
    for sector in 1..whole.len() / 512 {
        let mut torn = whole.clone();
        torn[sector * 512..(sector + 1) * 512].fill(0);
        fs::write(file(&folder, LOG), &torn).unwrap();
        let found = open(folder.path()).unwrap();
        assert_eq!(found.batches, BATCHES);
        assert!(found.cut.is_some());
    }
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
