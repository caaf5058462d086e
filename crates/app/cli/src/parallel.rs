//! The same work for many things, on all processors.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Stack of a thread: what the main thread has.
const STACK_BYTES: usize = 8 << 20;

/// Does `work` for every item and gives the results to `report`, in the order of the items.
///
/// # Errors
/// When a thread cannot be started, or what `report` says.
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut report: impl FnMut(&T, R) -> Result<()>,
) -> Result<()> {
    let threads = thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(items.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (next, sender, work) = (&next, sender.clone(), &work);
            let thread = move || {
                while let Some((index, item)) = take(items, next) {
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            };
            let worker = thread::Builder::new().stack_size(STACK_BYTES);
            worker.spawn_scoped(scope, thread).context("cannot start a thread")?;
        }
        drop(sender);
        let mut finished = BTreeMap::new();
        let mut reported = 0;
        for (index, result) in receiver {
            finished.insert(index, result);
            while let Some(result) = finished.remove(&reported) {
                report(&items[reported], result)?;
                reported += 1;
            }
        }
        Ok(())
    })
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    items.get(index).map(|item| (index, item))
}
