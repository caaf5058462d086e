//! What packets of the fast path ask of tables, pools and quotas: it is done before the next packet.
//!
//! The tables are pinned meanwhile. What has to wait for other readers or for another writer is left to the worker, which unpins for it;
//! the burst ends there. It does so too when the tables are in another state than at its beginning, since what compiled code knows of them
//! holds no more. An entry that is added to a table that learns is no such change, unless the table grows:
//! [`forebay_tables::TableSpec::learns`].

use crate::control::learning::Learned;
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
    /// What is left to be done.
    pub(super) learned: &'a mut Vec<Learned>,
    pub(super) digests: &'a mut Vec<DigestMessage>,
}

impl Asking<'_> {
    /// Does what the last packet has asked for. Whether the next one may follow in this burst.
    pub(super) fn answer(&mut self, fast_path: &mut FastPath<'_>) -> bool {
        self.take_digests(fast_path);
        if self.learned.is_empty() {
            return true;
        }
        self.learned.push(Learned::PacketEnds);
        self.pipeline.learn_beside_pin(self.learned, self.now_ns) && self.pin.is_current()
    }

    /// Tells messages to tables from those to controllers.
    pub(super) fn take_digests(&mut self, fast_path: &mut FastPath<'_>) {
        for request in fast_path.digests() {
            if self.pipeline.program.is_for_table(request.digest) {
                self.learned.push(Learned::Request(request));
            } else {
                let DigestRequest { digest, values } = request;
                self.digests.push(DigestMessage { digest, values });
            }
        }
    }
}
