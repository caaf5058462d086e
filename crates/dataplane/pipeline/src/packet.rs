//! Packets at the two entry points of a pipeline, and the arguments that the switch gives with them.
//!
//! A pipeline reads no clock and no queue. Whatever a program can observe besides its packet and its tables (time,
//! queue depths, randomness) is an argument here, so the software switch and the timed chip call the same code.

use crate::frame_buffer::FrameBuffer;
use forebay_bits::Bits;
use forebay_exec::State;
use forebay_ir::SlotId;
use forebay_jit::Seed;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Where a packet comes from: `standard_metadata.instance_type`, with the numbers of BMv2's simple_switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InstanceType {
    /// It arrived at a port, or is the unicast packet from ingress.
    #[default]
    Normal = 0,
    /// A clone from ingress to egress.
    IngressClone = 1,
    /// A clone from egress to egress.
    EgressClone = 2,
    /// Not produced by v1model; here so that the numbers are complete.
    Coalesced = 3,
    /// It was recirculated.
    Recirculated = 4,
    /// A copy for a member of a multicast group.
    Replicated = 5,
    /// It was resubmitted.
    Resubmitted = 6,
}

impl InstanceType {
    /// All of them.
    pub(crate) const ALL: [InstanceType; 7] = [
        InstanceType::Normal,
        InstanceType::IngressClone,
        InstanceType::EgressClone,
        InstanceType::Coalesced,
        InstanceType::Recirculated,
        InstanceType::Replicated,
        InstanceType::Resubmitted,
    ];
}

/// What the switch tells the ingress pipeline about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngressArguments {
    /// `standard_metadata.ingress_port`.
    pub ingress_port: u32,
    /// `standard_metadata.ingress_global_timestamp`, in microseconds since the switch started (the low 48 bits count).
    /// Also the time at which meters of the ingress control are executed.
    pub timestamp_us: u64,
    /// Seed of `random` for this pass. The same seed gives the same numbers.
    pub random_seed: u64,
}

/// Values of `@field_list` slots that a resubmitted or recirculated packet keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preserved(pub(crate) Vec<(SlotId, Bits)>);

/// How often a packet went back to the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Resubmissions since it last began as a received or recirculated packet.
    pub resubmissions: u32,
    /// Recirculations.
    pub recirculations: u32,
    /// Clones of clones from egress since then.
    pub egress_clones: u32,
}

impl Passes {
    /// A number that another pass of the packet does not have.
    fn number(self) -> u64 {
        u64::from(self.recirculations) << 16 | u64::from(self.resubmissions)
    }
}

/// Everything of a packet, in one place from its arrival to its end: moving the packet is moving a pointer.
///
/// What only one side of the traffic manager looks at is zero, or of the pass before, on the other side.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The frame from its first byte on, without the frame check sequence: as it is before ingress, also behind it. Empty
    /// when it is shared.
    pub bytes: FrameBuffer,
    /// The frame, when copies of the packet have it too.
    pub(crate) shared: Option<Arc<FrameBuffer>>,
    /// What the switch says of it in ingress.
    pub arguments: IngressArguments,
    /// Chosen by the switch, never read here; every packet made from this one carries it.
    pub tag: u64,
    /// The port whose queue it goes to, and where it will leave unless egress decides otherwise.
    pub egress_port: u32,
    /// `standard_metadata.priority`: the queue of the port, the larger the more urgent (3 bits).
    pub priority: u8,
    /// New, resubmitted or recirculated; behind ingress unicast, replica or clone.
    pub(crate) instance_type: InstanceType,
    /// Metadata kept from the pass before.
    pub(crate) preserved: Preserved,
    /// How often the packet went through ingress by resubmission and by recirculation.
    pub(crate) passes: Passes,
    /// Headers and metadata, from ingress to the end of egress.
    pub(crate) state: Option<Box<State>>,
    /// Bytes of the headers that are valid, where ingress or egress has ended.
    pub(crate) header_bytes: u32,
    /// Where the part that the parser left begins in the frame, in bits.
    pub(crate) payload_bit: usize,
    /// Which copy for its port it is, of those of a multicast group or a clone session: `standard_metadata.egress_rid`.
    pub(crate) instance: u16,
    /// Length of the frame that ingress received; counters and meters count it.
    pub(crate) ingress_length: u32,
    /// `standard_metadata.packet_length` for egress.
    pub(crate) packet_length: u32,
    /// The least of the lengths that `truncate` was called with.
    pub(crate) truncate_to: Option<u32>,
    /// The number of the entry of the graph at which it goes on behind its queue.
    pub(crate) resume: u8,
}

impl Contents {
    /// The frame, whoever has it.
    pub(crate) fn frame(&self) -> &[u8] {
        self.shared.as_ref().map_or(&self.bytes, |shared| shared)
    }

    /// The state that ingress has given the packet.
    pub(crate) fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("ingress comes first")
    }

    /// Becomes a copy of another packet but for frame, state, and what is preserved.
    pub(crate) fn copy_facts(&mut self, original: &Contents) {
        self.arguments = original.arguments;
        self.tag = original.tag;
        self.egress_port = original.egress_port;
        self.instance = original.instance;
        self.priority = original.priority;
        self.instance_type = original.instance_type;
        self.passes = original.passes;
        self.payload_bit = original.payload_bit;
        self.header_bytes = original.header_bytes;
        self.ingress_length = original.ingress_length;
        self.packet_length = original.packet_length;
        self.truncate_to = original.truncate_to;
        self.resume = original.resume;
    }
}

/// A packet that is about to enter ingress.
#[derive(Clone, Debug, Default)]
pub struct IngressPacket(pub(crate) Box<Contents>);

impl IngressPacket {
    /// A packet that arrived at a port. [`crate::Worker::packet`] does the same with the memory of earlier ones.
    pub fn new(bytes: Vec<u8>, arguments: IngressArguments) -> Self {
        IngressPacket(Box::new(Contents {
            bytes: bytes.into(),
            arguments,
            ..Contents::default()
        }))
    }

    /// New, resubmitted or recirculated.
    #[inline]
    pub fn instance_type(&self) -> InstanceType {
        self.instance_type
    }

    /// How often it was resubmitted and recirculated so far.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    /// Where the random numbers of ingress begin, in a switch with this seed.
    pub fn ingress_seed(&self, switch: u64) -> u64 {
        Seed::of_packet(switch, self.tag).again(self.passes.number()).value()
    }
}

impl Deref for IngressPacket {
    type Target = Contents;

    #[inline]
    fn deref(&self) -> &Contents {
        &self.0
    }
}

impl DerefMut for IngressPacket {
    #[inline]
    fn deref_mut(&mut self) -> &mut Contents {
        &mut self.0
    }
}

/// A packet between ingress and egress: what the traffic manager queues.
///
/// It carries the program's state (headers and metadata) rather than bytes: v1model has no deparser between ingress
/// and egress.
#[derive(Clone, Debug)]
pub struct QueuedPacket(pub(crate) Box<Contents>);

impl QueuedPacket {
    /// Length in bytes for the accounting of queues and links: what `standard_metadata.packet_length` will say in
    /// egress.
    #[inline]
    pub fn length(&self) -> u32 {
        match self.truncate_to {
            Some(limit) => self.packet_length.min(limit),
            None => self.packet_length,
        }
    }

    /// Unicast, replica or clone.
    #[inline]
    pub fn instance_type(&self) -> InstanceType {
        self.instance_type
    }

    /// Where the random numbers of egress begin, in a switch with this seed.
    pub fn egress_seed(&self, switch: u64) -> u64 {
        let clones = match self.instance_type {
            InstanceType::IngressClone => 1,
            InstanceType::EgressClone => 1 + u64::from(self.passes.egress_clones),
            _ => 0,
        };
        let seed = Seed::of_packet(switch, self.tag).again(self.passes.number());
        let seed = seed.in_egress(self.egress_port, self.instance);
        seed.again(clones << 48).value()
    }
}

impl Deref for QueuedPacket {
    type Target = Contents;

    #[inline]
    fn deref(&self) -> &Contents {
        &self.0
    }
}

impl DerefMut for QueuedPacket {
    #[inline]
    fn deref_mut(&mut self) -> &mut Contents {
        &mut self.0
    }
}

/// What the traffic manager tells the egress pipeline about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EgressArguments {
    /// `standard_metadata.egress_global_timestamp`, in microseconds since the switch started: the time of dequeuing.
    pub timestamp_us: u64,
    /// `standard_metadata.enq_timestamp`, in microseconds (the low 32 bits count); `deq_timedelta` is the difference.
    pub enq_timestamp_us: u64,
    /// `standard_metadata.enq_qdepth`, in packets.
    pub enq_qdepth: u32,
    /// `standard_metadata.deq_qdepth`, in packets.
    pub deq_qdepth: u32,
    /// Seed of `random` for this pass.
    pub random_seed: u64,
}

/// A packet that is about to enter egress.
#[derive(Clone, Debug)]
pub struct EgressPacket {
    /// What ingress gave to the traffic manager.
    pub packet: QueuedPacket,
    /// What the traffic manager says of it.
    pub arguments: EgressArguments,
}
