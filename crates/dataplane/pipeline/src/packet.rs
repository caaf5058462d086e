//! Packets at the two entry points of a pipeline, and their arguments from the switch.
//!
//! A pipeline reads no clock and no queue. Everything that a program can observe besides its packet and its tables
//! (time, queue depths, randomness) is an argument here, so the software switch and the timed chip call the same code.

use crate::frame_buffer::FrameBuffer;
use forebay_bits::Bits;
use forebay_exec::{Seed, State};
use forebay_ir::SlotId;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The origin of a packet: `standard_metadata.instance_type`, with the numbers of BMv2's simple_switch.
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
    /// Not produced by v1model; listed so that the numbers are complete.
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

impl Preserved {
    /// Takes the values of slots, each for a slot of the new packet, in place of what is here.
    pub(crate) fn take(&mut self, state: &State, pairs: &[(SlotId, SlotId)]) {
        self.0.clear();
        self.0.extend(pairs.iter().map(|&(from, to)| (to, state.get(from))));
    }
}

/// How many times a packet went back to the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Resubmissions since its last arrival or recirculation.
    pub resubmissions: u32,
    /// Recirculations.
    pub recirculations: u32,
    /// Clones of clones from egress since its last arrival or recirculation.
    pub egress_clones: u32,
    /// What of [`Options::clone_limit`](crate::Options::clone_limit) is used up: the copies of a clone share what is left.
    pub clones_used: u32,
}

impl Passes {
    /// Those of a packet that is resubmitted.
    #[must_use]
    pub(crate) fn resubmitted(self) -> Passes {
        Passes {
            resubmissions: self.resubmissions + 1,
            ..self
        }
    }

    /// Those of a packet that is recirculated.
    #[must_use]
    pub(crate) fn recirculated(self) -> Passes {
        Passes {
            recirculations: self.recirculations + 1,
            ..Passes::default()
        }
    }

    /// A number that is unique to this pass of the packet.
    fn number(self) -> u64 {
        u64::from(self.recirculations) << 16 | u64::from(self.resubmissions)
    }
}

/// What all packets that are made from one have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// See [`Contents::tag`].
    pub tag: u64,
    /// How many times the packet has gone back to the start.
    pub passes: Passes,
}

/// All data of a packet, in one allocation from its arrival to its end: moving the packet moves a pointer.
///
/// Fields that only one side of the traffic manager uses are zero, or left from an earlier pass, on the other side.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The frame without the frame check sequence. After ingress it is still the frame as it was before ingress. Empty
    /// when the frame is shared.
    pub bytes: FrameBuffer,
    /// The frame, if copies of the packet share it.
    pub(crate) shared: Option<Arc<FrameBuffer>>,
    /// The arguments from the switch in ingress.
    pub arguments: IngressArguments,
    /// Set by the switch, and never read here. Every packet made from this one has the same tag.
    pub tag: u64,
    /// The port whose queue it goes to. It leaves by this port unless egress decides otherwise.
    pub egress_port: u32,
    /// `standard_metadata.priority`: the queue of the port. Larger numbers are more urgent (3 bits).
    pub priority: u8,
    /// Before the queue: new, resubmitted or recirculated. After it: unicast, replica or clone.
    pub(crate) instance_type: InstanceType,
    /// Metadata kept from the previous pass.
    pub(crate) preserved: Preserved,
    /// The same, in place of it, if the fast path has noted it:
    /// [`KeptValues`](crate::straight::kept::KeptValues). Otherwise empty.
    pub(crate) kept_bytes: Vec<u8>,
    /// How many times the packet was resubmitted and recirculated.
    pub(crate) passes: Passes,
    /// Headers and metadata, from ingress to the end of egress.
    pub(crate) state: Option<Box<State>>,
    /// Bytes of the valid headers at the end of ingress or egress.
    pub(crate) header_bytes: u32,
    /// The bit of the frame at which the part that the parser left begins.
    pub(crate) payload_bit: usize,
    /// Distinguishes the copies of a multicast group or a clone session for one port: `standard_metadata.egress_rid`.
    pub(crate) instance: u16,
    /// Length of the frame at ingress, which counters and meters count.
    pub(crate) ingress_length: u32,
    /// `standard_metadata.packet_length` for egress.
    pub(crate) packet_length: u32,
    /// The smallest length passed to `truncate`.
    pub(crate) truncate_to: Option<u32>,
    /// The number of the graph entry at which it continues after its queue.
    pub(crate) resume: u8,
}

impl Contents {
    /// The frame, shared or not.
    pub(crate) fn frame(&self) -> &[u8] {
        self.shared.as_ref().map_or(&self.bytes, |shared| shared)
    }

    /// The state of the packet. Ingress must have run.
    pub(crate) fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("ingress comes first")
    }

    /// Keeps the values of slots for the packet's next pass. Ingress must have run.
    pub(crate) fn preserve(&mut self, pairs: &[(SlotId, SlotId)]) {
        let state = self.state.as_ref().expect("ingress comes first");
        self.preserved.take(state, pairs);
    }

    /// Becomes a copy of another packet, except for the frame, the state and the preserved values.
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
    /// A packet that arrived at a port. [`crate::Worker::packet`] does the same, but reuses memory of earlier packets.
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

    /// How many times it has been resubmitted and recirculated.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    /// What it has in common with the packets that are made from it.
    pub fn origin(&self) -> Origin {
        Origin {
            tag: self.tag,
            passes: self.passes,
        }
    }

    /// The seed of the random numbers of ingress, in a switch with this seed.
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
    /// Length in bytes for the accounting of queues and links. In egress, `standard_metadata.packet_length` has this
    /// value.
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

    /// The seed of the random numbers of egress, in a switch with this seed.
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

/// A packet that leaves the switch: a frame, its tag, and the port by which it leaves ([`Contents::egress_port`]).
#[derive(Clone, Debug)]
pub struct LeavingPacket(pub(crate) Box<Contents>);

impl LeavingPacket {
    /// The frame.
    pub fn into_bytes(self) -> FrameBuffer {
        self.0.bytes
    }
}

impl Deref for LeavingPacket {
    type Target = Contents;

    #[inline]
    fn deref(&self) -> &Contents {
        &self.0
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
    /// The packet that ingress gave to the traffic manager.
    pub packet: QueuedPacket,
    /// The arguments from the traffic manager.
    pub arguments: EgressArguments,
}
