//! Executes the requests of fast-path packets to tables, pools and quotas, before the next packet.
//!
//! The tables stay pinned meanwhile. Requests that must wait for other readers or for another writer are left to the
//! worker, which unpins for them; the burst ends there. The burst also ends when the state of the tables is no longer
//! that of its beginning, because addresses that compiled code has read from them are then invalid. Adding an entry to
//! a table that learns does not change the state, unless the table grows: [`forebay_tables::TableSpec::learns`].

use crate::control::learning::LearnedList;
use crate::load::Pipeline;
use crate::outcome::DigestMessage;
use forebay_exec::DigestRequest;
use forebay_jit::FastPath;
use forebay_tables::Pin;

/// See the [module](self).
pub(super) struct Asking<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) pin: &'a Pin<'a>,
    pub(super) now_ns: u64,
    /// Requests that have not been executed yet.
    pub(super) learned: &'a mut LearnedList,
    pub(super) digests: &'a mut Vec<DigestMessage>,
}

impl Asking<'_> {
    /// Executes the requests of the last packet. Returns whether the next packet may follow in this burst.
    pub(super) fn answer(&mut self, fast_path: &mut FastPath<'_>) -> bool {
        self.take_digests(fast_path);
        if self.learned.is_empty() {
            return true;
        }
        self.learned.end_packet();
        self.pipeline.learn_beside_pin(self.learned, self.now_ns) && self.pin.is_current()
    }

    /// Separates messages to tables from those to controllers.
    pub(super) fn take_digests(&mut self, fast_path: &mut FastPath<'_>) {
        let program = &self.pipeline.program;
        fast_path.take_digests(|digest, words| {
            if program.is_for_table(digest) {
                self.learned.request(digest, words.iter().copied());
            } else {
                let widths = program.digests[digest.index()].fields.iter().map(|(_, width)| *width);
                let DigestRequest { digest, values } = DigestRequest::of_words(digest, widths, words);
                self.digests.push(DigestMessage { digest, values });
            }
        });
    }
}
