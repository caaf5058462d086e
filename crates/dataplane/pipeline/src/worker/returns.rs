//! Packets that the fast path sends back to ingress. It has completed their pass, and has noted what they keep for the
//! next one.

use super::Worker;
use crate::layout::field_list;
use crate::outcome::DropReason;
use crate::packet::{IngressArguments, IngressPacket, InstanceType, Passes, Preserved};
use forebay_bits::Bits;
use forebay_jit::SentBack;

/// How a packet of the fast path begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// Resubmitted, before the next packet. The number is that of its note.
    Resubmitted(u32),
    /// Recirculated, in the next poll. The number is that of its note.
    Recirculated(u32),
    /// Recirculated by a [port](Worker::goes_round_by). It keeps no metadata.
    ByPort,
}

/// What is noted of packets that begin again.
#[derive(Debug, Default)]
pub(super) struct Returns {
    /// Packets, and copies of them.
    pub(super) of_packets: SentBack,
    /// Clones.
    pub(super) of_clones: SentBack,
}

impl Worker {
    /// A packet of the last [`Worker::pass`] that begins again with this frame. `is_clone` says that it is one of the
    /// [clones](Worker::clones).
    ///
    /// # Errors
    /// If it has reached a limit; the drop is counted.
    pub fn begins_again(
        &mut self,
        (how, is_clone): (Return, bool),
        frame: &[u8],
        arguments: IngressArguments,
        tag: u64,
    ) -> Result<IngressPacket, DropReason> {
        let options = &self.pipeline.options;
        let (limit, reason) = match how {
            Return::Resubmitted(_) => (options.resubmit_limit, DropReason::ResubmitLimit),
            Return::Recirculated(_) | Return::ByPort => (options.recirculate_limit, DropReason::RecirculateLimit),
        };
        if limit == 0 {
            self.count_drop(reason);
            return Err(reason);
        }
        let mut bytes = self.buffer();
        bytes.extend_from_slice(frame);
        let mut packet = self.packet(bytes, arguments);
        packet.tag = tag;
        packet.passes = Passes::default();
        (packet.instance_type, packet.preserved) = match how {
            Return::Resubmitted(note) => {
                packet.passes.resubmissions = 1;
                (InstanceType::Resubmitted, self.kept(note, is_clone))
            }
            Return::Recirculated(note) => {
                packet.passes.recirculations = 1;
                (InstanceType::Recirculated, self.kept(note, is_clone))
            }
            Return::ByPort => {
                packet.passes.recirculations = 1;
                (InstanceType::Recirculated, Preserved::default())
            }
        };
        Ok(packet)
    }

    /// The metadata that the packet of a note keeps.
    fn kept(&self, note: u32, is_clone: bool) -> Preserved {
        let notes = if is_clone {
            &self.fast.returns.of_clones
        } else {
            &self.fast.returns.of_packets
        };
        let (preserve, mut rest) = notes.note(note);
        let code = self.pipeline.code.as_ref().expect("the fast path has sent it back");
        let listed = field_list(&self.pipeline.program, preserve);
        let values = code.kept_by_returns().iter().filter_map(|&(slot, width)| {
            let (value, behind) = rest.split_at(width.div_ceil(8) as usize);
            rest = behind;
            listed
                .contains(&slot)
                .then(|| (slot, Bits::from_bytes_be(width, value)))
        });
        Preserved(values.collect())
    }
}
