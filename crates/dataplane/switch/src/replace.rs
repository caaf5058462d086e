//! Replaces the program while the switch runs.
//!
//! Packets in the switch belong to the program with which they entered, because only its headers and metadata are left
//! of them. So they leave first, under that program. Packets that cannot leave soon, because a port has no room or the
//! program sends them round and round, are dropped for [`DropReason::ProgramReplaced`]. Packets that wait in ports are
//! not affected.

use crate::switch::Switch;
use forebay_pipeline::{DropReason, Pipeline, Tracer, Worker};
use std::sync::Arc;

/// The most polls in which packets in the switch may leave.
const LAST_POLLS: u32 = 256;

impl Switch {
    /// Runs another program from the next poll on. `now_ns` is that of [`Switch::poll`]; `tracer` is told what becomes
    /// of the packets that leave before.
    pub fn replace_pipeline<T: Tracer>(&mut self, pipeline: Arc<Pipeline>, now_ns: u64, tracer: &mut T) {
        for _ in 0..LAST_POLLS {
            self.go_round_now();
            let (ingress, egress) = self.run_arrived(now_ns, tracer);
            let moved = ingress + egress + self.run_queues(now_ns, tracer);
            self.transmit(now_ns);
            if moved == 0 {
                break;
            }
        }
        self.drop_all(DropReason::ProgramReplaced);
        self.ports.program_replaced(&self.worker.pipeline().program().errors);
        self.paths_before += self.worker.paths();
        // The new worker waits for those that have the tables of its program pinned, which may be the same program.
        self.worker.rest();
        self.worker = Worker::new(pipeline);
        self.worker.stay_pinned(self.stays_pinned);
    }
}
