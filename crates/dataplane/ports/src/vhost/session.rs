//! A connection with the front end of a guest, without the socket: requests in, answers out.
//!
//! Rings are numbered from 0; even ones carry frames to the guest, odd ones from it. A ring works when it has memory, a
//! size, addresses and an event, and is enabled. Whenever one of these changes, the ring is taken out of the
//! [`Link`](crate::link::Link), which waits for the worker's burst to end, and put back as it then is. The event by
//! which the guest is told changes in place, since guests change it while packets flow.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::VhostLink;
use super::format::Format;
use super::memory::{GuestMemory, REGIONS_MAX, Region, RegionInfo};
use super::message::{EventKind, Request};
use super::options::VhostOptions;
use super::receiver::Receiver;
use super::ring::{Addresses, Ring, RingFeatures, RingParts};
use super::sender::Sender;
use crate::link::Fault;
use crate::offload::segments::Segments;
use crate::system::event::Event;

const CHECKSUM: u64 = 1 << 0;
const GUEST_CHECKSUM: u64 = 1 << 1;
const GUEST_SUPER_FRAMES_IPV4: u64 = 1 << 7;
const GUEST_SUPER_FRAMES_IPV6: u64 = 1 << 8;
const GUEST_SUPER_FRAMES_CONGESTION: u64 = 1 << 9;
const SUPER_FRAMES_IPV4: u64 = 1 << 11;
const SUPER_FRAMES_IPV6: u64 = 1 << 12;
const SUPER_FRAMES_CONGESTION: u64 = 1 << 13;
const MERGEABLE: u64 = 1 << 15;
const SEVERAL_QUEUES: u64 = 1 << 22;
const INDIRECT: u64 = 1 << 28;
const EVENT_INDEX: u64 = 1 << 29;
const HAS_PROTOCOL_FEATURES: u64 = 1 << 30;
const VERSION_1: u64 = 1 << 32;
const PACKED: u64 = 1 << 34;

/// Of the protocol: several queues, answers to any request, regions one by one.
const PROTOCOL_SEVERAL_QUEUES: u64 = 1 << 0;
const PROTOCOL_REPLIES: u64 = 1 << 3;
const PROTOCOL_REGIONS: u64 = 1 << 15;
const PROTOCOL_FEATURES: u64 = PROTOCOL_SEVERAL_QUEUES | PROTOCOL_REPLIES | PROTOCOL_REGIONS;

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Nothing, or that it was done, if the peer wants to know.
    Done,
    /// A number of 64 bits.
    Number(u64),
    /// The position of a ring.
    Base { ring: u32, base: u32 },
}

/// What the peer has said of a ring.
#[derive(Default)]
struct RingState {
    size: u16,
    addresses: Option<Addresses>,
    /// How far it had come when it worked last, or what the peer has said since.
    base: u32,
    kick: Option<Arc<Event>>,
    call: Option<Arc<Event>>,
    is_enabled: bool,
    is_working: bool,
    /// Segments of a super-frame that were not delivered when it worked last.
    segments: Option<Segments>,
}

/// A connection.
pub(crate) struct Session {
    offered: u64,
    features: u64,
    protocol_features: u64,
    memory: Arc<GuestMemory>,
    rings: Vec<RingState>,
    link: Arc<VhostLink>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.link.close();
    }
}

impl Session {
    /// A new connection, for a link whose queues are closed.
    pub(crate) fn new(options: &VhostOptions, link: Arc<VhostLink>) -> Session {
        Session {
            offered: offered(options),
            features: 0,
            protocol_features: 0,
            memory: Arc::default(),
            rings: (0..2 * link.queues()).map(|_| RingState::default()).collect(),
            link,
        }
    }

    /// Whether the peer gets an answer to requests that have none of their own.
    pub(crate) fn replies(&self) -> bool {
        self.protocol_features & PROTOCOL_REPLIES != 0
    }

    /// What both sides have agreed on.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn features(&self) -> u64 {
        self.features
    }

    /// Whether the guest's memory was made shorter.
    pub(crate) fn has_lost_memory(&self) -> bool {
        self.memory.is_lost()
    }

    /// Executes a request.
    ///
    /// # Errors
    /// When it cannot be right. The connection is of no use any more then.
    pub(crate) fn answer(&mut self, request: Request, files: Vec<OwnedFd>) -> Result<Answer, Fault> {
        match request {
            Request::GetFeatures => return Ok(Answer::Number(self.offered)),
            Request::GetProtocolFeatures => return Ok(Answer::Number(PROTOCOL_FEATURES)),
            Request::GetQueuePairs => return Ok(Answer::Number(self.link.queues() as u64)),
            Request::GetMemorySlots => return Ok(Answer::Number(REGIONS_MAX as u64)),
            Request::GetRingBase { ring } => return self.stop(ring),
            Request::SetFeatures(features) => self.set_features(features)?,
            Request::SetProtocolFeatures(features) => self.set_protocol_features(features)?,
            Request::SetOwner => {}
            Request::ResetOwner => self.reset(),
            Request::SetMemoryTable(regions) => self.set_memory(&regions, &files)?,
            Request::AddRegion(region) => self.add_region(region, &files)?,
            Request::RemoveRegion(region) => self.remove_region(&region)?,
            Request::SetRingSize { ring, size } => {
                let size = u16::try_from(size).map_err(|_| Fault("a ring is too large"))?;
                self.change(ring, |state| state.size = size)?;
            }
            Request::SetRingAddresses { ring, addresses } => {
                self.change(ring, |state| state.addresses = Some(addresses))?;
            }
            Request::SetRingBase { ring, base } => self.change(ring, |state| state.base = base)?,
            Request::EnableRing { ring, is_on } => self.change(ring, |state| state.is_enabled = is_on)?,
            Request::SetRingEvent { kind, ring, has_event } => self.set_event(kind, ring, has_event, files)?,
        }
        Ok(Answer::Done)
    }

    fn set_features(&mut self, features: u64) -> Result<(), Fault> {
        if features & !self.offered != 0 {
            return Err(Fault("a feature is wanted that was not offered"));
        }
        self.suspend_all();
        self.features = features;
        self.resume_all()
    }

    fn set_protocol_features(&mut self, features: u64) -> Result<(), Fault> {
        if features & !PROTOCOL_FEATURES != 0 {
            return Err(Fault("a feature of the protocol is wanted that was not offered"));
        }
        self.protocol_features = features;
        Ok(())
    }

    fn reset(&mut self) {
        self.suspend_all();
        self.rings.iter_mut().for_each(|state| *state = RingState::default());
        self.features = 0;
    }

    fn set_memory(&mut self, regions: &[RegionInfo], files: &[OwnedFd]) -> Result<(), Fault> {
        if regions.len() != files.len() {
            return Err(Fault("a region comes without memory"));
        }
        let mapped = regions.iter().zip(files).map(|(info, file)| map(*info, file));
        let mapped = mapped.collect::<Result<Vec<_>, Fault>>()?;
        self.suspend_all();
        self.memory = Arc::new(GuestMemory::new(mapped));
        self.resume_all()
    }

    fn add_region(&mut self, info: RegionInfo, files: &[OwnedFd]) -> Result<(), Fault> {
        let [file] = files else {
            return Err(Fault("a region comes without memory"));
        };
        let region = map(info, file)?;
        self.change_regions(|regions| match regions.len() {
            REGIONS_MAX.. => Err(Fault("there are too many regions of memory")),
            _ => {
                regions.push(region);
                Ok(())
            }
        })
    }

    fn remove_region(&mut self, info: &RegionInfo) -> Result<(), Fault> {
        self.change_regions(|regions| {
            regions.retain(|region| !region.is(info));
            Ok(())
        })
    }

    fn change_regions(&mut self, change: impl FnOnce(&mut Vec<Region>) -> Result<(), Fault>) -> Result<(), Fault> {
        self.suspend_all();
        // No ring has it now.
        let memory = Arc::into_inner(std::mem::take(&mut self.memory)).ok_or(Fault("the memory is in use"))?;
        let mut regions = memory.into_regions();
        let changed = change(&mut regions);
        self.memory = Arc::new(GuestMemory::new(regions));
        changed.and_then(|()| self.resume_all())
    }

    fn set_event(&mut self, kind: EventKind, ring: u32, has_event: bool, files: Vec<OwnedFd>) -> Result<(), Fault> {
        let event = match files.into_iter().next() {
            Some(file) if has_event => {
                let event = Event::of_peer(file).map_err(|_| Fault("something comes as an event that is none"))?;
                Some(Arc::new(event))
            }
            None if !has_event => None,
            _ => return Err(Fault("an event is missing, or comes where there is none")),
        };
        match kind {
            EventKind::Kick if event.is_none() => Err(Fault(
                "a ring without an event is not served: it would be polled for ever",
            )),
            EventKind::Kick => self.change(ring, |state| state.kick = event),
            EventKind::Call => self.set_call(ring, event),
            // Faults end the connection, which says more.
            EventKind::Error => Ok(()),
        }
    }

    /// Changes the event by which the guest is told of a ring.
    fn set_call(&mut self, ring: u32, call: Option<Arc<Event>>) -> Result<(), Fault> {
        let index = self.index(ring)?;
        self.rings[index].call.clone_from(&call);
        if self.rings[index].is_working {
            let its_call = call.clone();
            match index % 2 {
                0 => self.link.change_sender(index / 2, |sender| sender.set_call(its_call)),
                _ => self
                    .link
                    .change_receiver(index / 2, |receiver| receiver.set_call(its_call)),
            }
            // The driver may have been told of the buffers used so far by the old one.
            if let Some(call) = call {
                call.ring();
            }
        }
        Ok(())
    }

    /// Stops a ring and says how far it has come.
    fn stop(&mut self, ring: u32) -> Result<Answer, Fault> {
        let index = self.index(ring)?;
        self.suspend(index);
        let state = &mut self.rings[index];
        state.kick = None;
        let base = state.base;
        self.note_open();
        Ok(Answer::Base { ring, base })
    }

    fn index(&self, ring: u32) -> Result<usize, Fault> {
        let index = ring as usize;
        let is_there = index < self.rings.len();
        is_there
            .then_some(index)
            .ok_or(Fault("a ring is named that there is not"))
    }

    /// Changes what is known of a ring, while it does not work.
    fn change(&mut self, ring: u32, change: impl FnOnce(&mut RingState)) -> Result<(), Fault> {
        let index = self.index(ring)?;
        self.suspend(index);
        change(&mut self.rings[index]);
        self.resume(index)?;
        self.note_open();
        Ok(())
    }

    fn is_packed(&self) -> bool {
        self.features & PACKED != 0
    }

    fn suspend_all(&mut self) {
        (0..self.rings.len()).for_each(|index| self.suspend(index));
        self.note_open();
    }

    fn resume_all(&mut self) -> Result<(), Fault> {
        (0..self.rings.len()).try_for_each(|index| self.resume(index))?;
        self.note_open();
        Ok(())
    }

    /// Takes a ring away from the worker.
    fn suspend(&mut self, index: usize) {
        if !std::mem::take(&mut self.rings[index].is_working) {
            return;
        }
        let base = match index % 2 {
            0 => self.link.set_sender(index / 2, None).map(|sender| sender.ring().base()),
            _ => self.link.set_receiver(index / 2, None).map(|receiver| {
                let (ring, segments) = receiver.into_parts();
                self.rings[index].segments = Some(segments);
                ring.base()
            }),
        };
        if let Some(base) = base {
            self.rings[index].base = base;
        }
    }

    /// Gives a ring to the worker, if it is complete.
    fn resume(&mut self, index: usize) -> Result<(), Fault> {
        let state = &self.rings[index];
        // Without that feature rings are enabled from the start.
        let is_enabled = state.is_enabled || self.features & HAS_PROTOCOL_FEATURES == 0;
        let (Some(addresses), Some(kick), true) = (state.addresses, &state.kick, is_enabled && state.size > 0) else {
            return Ok(());
        };
        let (kick, call) = (Arc::clone(kick), state.call.clone());
        let is_on = |feature| self.features & feature != 0;
        let ring = Ring::new(RingParts {
            memory: Arc::clone(&self.memory),
            size: state.size,
            addresses,
            features: RingFeatures {
                packed: self.is_packed(),
                indirect: is_on(INDIRECT),
                event_index: is_on(EVENT_INDEX),
            },
        })?;
        let format = Format {
            has_long_header: is_on(MERGEABLE) || is_on(VERSION_1),
            is_mergeable: is_on(MERGEABLE),
            may_be_unfinished: is_on(CHECKSUM | SUPER_FRAMES_IPV4 | SUPER_FRAMES_IPV6),
            takes_super_frames: [GUEST_CHECKSUM, GUEST_SUPER_FRAMES_IPV4, GUEST_SUPER_FRAMES_IPV6]
                .into_iter()
                .all(is_on),
        };
        // A device that has died may have used something without ringing.
        if let Some(call) = &call {
            call.ring();
        }
        self.rings[index].is_working = true;
        match index % 2 {
            0 => drop(self.link.set_sender(index / 2, Some(Sender::new(ring, format, call)))),
            _ => {
                let segments = self.rings[index].segments.take().unwrap_or_else(Segments::new);
                let receiver = Receiver::new(ring, format, kick, call, segments);
                drop(self.link.set_receiver(index / 2, Some(receiver)));
            }
        }
        Ok(())
    }

    /// Tells workers by which queues they can send, and whether packets can pass at all.
    fn note_open(&self) {
        let senders = self.rings.iter().step_by(2);
        self.link
            .set_open_senders(senders.take_while(|state| state.is_working).count());
        let is_up = self.rings.iter().any(|state| state.is_working);
        if is_up != self.link.is_up() {
            self.link.set_up(is_up);
        }
    }
}

fn map(info: RegionInfo, file: &OwnedFd) -> Result<Region, Fault> {
    Region::map(info, file).map_err(|_| Fault("a region of memory cannot be mapped"))
}

/// What a port can do.
fn offered(options: &VhostOptions) -> u64 {
    let always = MERGEABLE | INDIRECT | EVENT_INDEX | HAS_PROTOCOL_FEATURES | VERSION_1;
    let queues = if options.queues > 1 { SEVERAL_QUEUES } else { 0 };
    let packed = if options.packed { PACKED } else { 0 };
    let offload = if options.offload {
        let from_guest = CHECKSUM | SUPER_FRAMES_IPV4 | SUPER_FRAMES_IPV6 | SUPER_FRAMES_CONGESTION;
        let to_guest = GUEST_CHECKSUM | GUEST_SUPER_FRAMES_IPV4 | GUEST_SUPER_FRAMES_IPV6;
        from_guest | to_guest | GUEST_SUPER_FRAMES_CONGESTION
    } else {
        0
    };
    always | queues | packed | offload
}
