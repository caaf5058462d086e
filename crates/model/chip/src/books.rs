//! What became of packets: the balance that every simulation must keep.

use forebay_pipeline::DropReason;
use std::collections::BTreeMap;

macro_rules! losses {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// Why the chip, not the program, dropped a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Loss {
            $($(#[$doc])* $variant),+
        }

        impl Loss {
            /// Every reason.
            pub const ALL: &[Loss] = &[$(Loss::$variant),+];

            /// The stable name, in results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Loss::$variant => $name),+
                }
            }
        }
    };
}

losses! {
    /// The input buffer before the parser was full.
    InputBufferFull = "input_buffer_full",
    /// The buffer of recirculated packets before the parser was full.
    RecirculationBufferFull = "recirculation_buffer_full",
    /// The buffer of resubmitted packets before the parser was full.
    ResubmitBufferFull = "resubmit_buffer_full",
    /// The program resubmitted the packet more often than the chip permits.
    ResubmittedTooOften = "resubmitted_too_often",
    /// The queue had as many bytes as it may ever have.
    QueueFull = "queue_full",
    /// The queue had as many cells as it may have while so few are free.
    QueueThreshold = "queue_threshold",
    /// The packet buffer was full.
    BufferFull = "buffer_full",
    /// Neither the pool nor the headroom of the packet's port and queue had room for it.
    HeadroomFull = "headroom_full",
    /// The egress port does not exist.
    NoSuchPort = "no_such_port",
    /// A link lost the frame, as its specification requires.
    LinkLoss = "link_loss",
    /// The frame was lost on purpose, as the specification of a fault requires.
    InjectedFault = "injected_fault",
}

/// The balance of a chip: what came in, and copies, are what went out, what was dropped and what is
/// [inside](Books::inside).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Frames that came from outside: traffic, or the link of another chip.
    pub received: u64,
    /// Copies made: replicas and clones.
    pub copies: u64,
    /// Frames that left by a port that is no loopback port.
    pub transmitted: u64,
    /// Packets that went through ingress, each pass counted.
    pub ingress_passes: u64,
    /// Packets that went through egress, each pass counted.
    pub egress_passes: u64,
    losses: [u64; Loss::ALL.len()],
    program_drops: BTreeMap<DropReason, u64>,
}

impl Books {
    /// Packets dropped by the chip for this reason.
    pub fn lost(&self, loss: Loss) -> u64 {
        self.losses[loss as usize]
    }

    /// Packets dropped by the chip.
    pub fn lost_total(&self) -> u64 {
        self.losses.iter().sum()
    }

    /// Packets dropped by the program, by reason.
    pub fn program_drops(&self) -> &BTreeMap<DropReason, u64> {
        &self.program_drops
    }

    /// Packets that are somewhere in the chip, or on a wire that leads back into it.
    pub fn inside(&self) -> u64 {
        let dropped = self.lost_total() + self.program_drops.values().sum::<u64>();
        (self.received + self.copies)
            .checked_sub(self.transmitted + dropped)
            .expect("nothing leaves that has not come in or been made")
    }

    pub(crate) fn lose(&mut self, loss: Loss) {
        self.losses[loss as usize] += 1;
    }

    pub(crate) fn drop_by_program(&mut self, reason: DropReason) {
        *self.program_drops.entry(reason).or_insert(0) += 1;
    }
}
