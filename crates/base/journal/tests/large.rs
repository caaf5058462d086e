//! Snapshots of more than 4 GiB, with files that keep only what stands around the content.

use forebay_journal::{Files, Identity, Lock, LockMode, OpenFile, Store, Sync};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Bytes of a file's beginning that are kept.
const BEGINNING: usize = 64;

/// A file's path, its beginning, and its length.
type Beginning = (PathBuf, Vec<u8>, u64);

/// The beginning of every file, and its length.
#[derive(Clone, Debug, Default)]
struct Counting(Arc<Mutex<Vec<Beginning>>>);

#[derive(Debug)]
struct Counted(Counting, usize);

fn identity(place: usize) -> Identity {
    Identity {
        device: 1,
        inode: place as u64,
    }
}

impl Files for Counting {
    fn make_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        let files = self.0.lock().unwrap();
        let names = files.iter().filter_map(|(path, ..)| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let mut files = self.0.lock().unwrap();
        files.push((path.to_path_buf(), Vec::new(), 0));
        Ok(Box::new(Counted(self.clone(), files.len() - 1)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.0.lock().unwrap();
        let file = files.iter_mut().find(|(path, ..)| path == from);
        file.ok_or(io::ErrorKind::NotFound)?.0 = to.to_path_buf();
        Ok(())
    }

    fn remove(&self, removed: &Path) -> io::Result<()> {
        let mut files = self.0.lock().unwrap();
        let file = files.iter_mut().find(|(path, ..)| path == removed);
        file.ok_or(io::ErrorKind::NotFound)?.0 = PathBuf::new();
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        let files = self.0.lock().unwrap();
        let place = files.iter().position(|(found, ..)| found == path);
        Ok(identity(place.ok_or(io::ErrorKind::NotFound)?))
    }

    fn lock(&self, path: &Path, _: LockMode) -> io::Result<Option<Box<dyn Lock>>> {
        let mut files = self.0.lock().unwrap();
        files.push((path.to_path_buf(), Vec::new(), 0));
        Ok(Some(Box::new(Counted(self.clone(), files.len() - 1))))
    }
}

impl Lock for Counted {
    fn identity(&self) -> io::Result<Identity> {
        Ok(identity(self.1))
    }
}

impl OpenFile for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (_, beginning, length) = &mut self.0.0.lock().unwrap()[self.1];
        let room = BEGINNING - beginning.len();
        beginning.extend(&bytes[..bytes.len().min(room)]);
        *length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(identity(self.1))
    }
}

/// The length is written in full, and all of the content.
#[test]
#[ignore = "checksums of 4 GiB take some seconds; cargo test -p forebay-journal --test large -- --ignored"]
fn a_snapshot_of_more_than_four_gibibytes() {
    let files = Counting::default();
    let (mut store, _) = Store::open_with(Arc::new(files.clone()), Path::new("/state"), Sync::Disk).unwrap();
    store.snapshot(b"small").unwrap();
    // Zeros that are never written to take no memory.
    let state = vec![0; (1 << 32) + 5];
    store.snapshot(&state).unwrap();
    let files = files.0.lock().unwrap();
    let named = |name: &str| files.iter().find(|(path, ..)| path.ends_with(name));
    let (_, beginning, length) = named("snapshot-00000002").expect("it has its name");
    let said = u64::from_le_bytes(beginning[24..32].try_into().unwrap());
    assert_eq!(said, state.len() as u64);
    assert_eq!(*length, 24 + 12 + state.len() as u64 + 4);
    assert!(
        named("snapshot-00000001").is_none(),
        "the old one goes when the new one is complete"
    );
}
