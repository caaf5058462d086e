//! Another program in place of the present one, while the switch runs.
//!
//! Packets that are inside belong to the program that they entered with: its headers and metadata are all that is left of
//! them. So they leave first, under that program. What cannot leave soon, since a port has no room or a program sends it
//! round and round, is dropped for [`DropReason::ProgramReplaced`]. Packets that wait in ports are not touched.

use crate::switch::Switch;
use forebay_pipeline::{DropReason, NoTrace, Pipeline, Worker};
use std::sync::Arc;

/// Breaths that packets inside have to leave.
const LAST_BREATHS: u32 = 256;

impl Switch {
    /// Runs another program from the next poll on. `now_ns` is as for [`Switch::poll`].
    pub fn replace_pipeline(&mut self, pipeline: Arc<Pipeline>, now_ns: u64) {
        for _ in 0..LAST_BREATHS {
            let (ingress, egress) = self.run_arrived(now_ns, &mut NoTrace);
            let moved = ingress + egress + self.run_queues(now_ns, &mut NoTrace);
            self.transmit(now_ns);
            if moved == 0 {
                break;
            }
        }
        self.drop_all(DropReason::ProgramReplaced);
        self.ports.program_replaced(&self.worker.pipeline().program().errors);
        self.paths_before += self.worker.paths();
        self.worker = Worker::new(pipeline);
        self.worker.stay_pinned(self.stays_pinned);
    }
}
